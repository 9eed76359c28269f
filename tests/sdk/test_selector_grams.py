"""Questions in scripts that the vocabulary does not know are matched by their characters."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tersely.score.grams import (
    BROKEN_WEIGHT,
    broken_share,
    gram_logits,
    split_grams,
    unknown_share,
    weigh_characters,
)
from tests.sdk.selector_cases import bundled_selector, make_input, rank_sentences, recording_selector

CASES = {
    "zh": (
        "灯塔是谁设计的？",
        [
            "灯塔矗立在悬崖上。灯塔是由工程师彭露丝设计的。星期天可以上楼。",
            "镇上的集市每周二开放。大麦是主要出口。",
        ],
        "灯塔是由工程师彭露丝设计的。",
    ),
    "ru": (
        "Кто спроектировал маяк на утёсе?",
        [
            "Посетители приходят летом. Маяк спроектирован инженером Пенроуз. Вход свободный.",
            "Рынок открыт по вторникам. Главный товар города ячмень.",
        ],
        "Маяк спроектирован инженером Пенроуз.",
    ),
    "el": (
        "Ποιος σχεδίασε τον φάρο;",
        ["Ο φάρος είναι παλιός. Τον φάρο σχεδίασε η μηχανικός Πένροουζ.", "Η αγορά ανοίγει κάθε Τρίτη."],
        "Τον φάρο σχεδίασε η μηχανικός Πένροουζ.",
    ),
    "ja": (
        "灯台を設計したのは誰ですか？",
        [
            "夏には観光客が訪れます。灯台は技師のペンローズが設計しました。入場は無料です。",
            "市場は火曜日に開きます。主な産物は大麦です。",
        ],
        "灯台は技師のペンローズが設計しました。",
    ),
    "ko": (
        "등대를 누가 설계했습니까?",
        [
            "여름에 방문객이 옵니다. 등대는 기술자 펜로즈가 설계했습니다. 입장은 무료입니다.",
            "시장은 화요일에 열립니다. 주요 산물은 보리입니다.",
        ],
        "등대는 기술자 펜로즈가 설계했습니다.",
    ),
    "ar": (
        "من صمم المنارة القديمة؟",
        [
            "يأتي الزوار في الصيف. المنارة القديمة صممتها المهندسة بنروز. الدخول مجاني.",
            "يفتح السوق كل ثلاثاء.",
        ],
        "المنارة القديمة صممتها المهندسة بنروز.",
    ),
    "hi": (
        "प्रकाशस्तंभ को किसने बनाया था?",
        [
            "पर्यटक गर्मियों में आते हैं। प्रकाशस्तंभ को अभियंता पेनरोज़ ने बनाया था। प्रवेश निःशुल्क है।",
            "बाज़ार मंगलवार को खुलता है। मुख्य उपज जौ है।",
        ],
        "प्रकाशस्तंभ को अभियंता पेनरोज़ ने बनाया था।",
    ),
    "vi": (
        "Chiếc cầu gỗ cũ bắc qua con suối được dựng năm nào?",
        [
            "Làng có hai quán trà. Cầu gỗ cũ bắc qua suối dựng năm 1871. Chợ họp vào thứ ba.",
            "Lũ trẻ nhặt quả cau và câu cá. Đám cưới được dựng rạp cuối năm.",
        ],
        "Cầu gỗ cũ bắc qua suối dựng năm 1871.",
    ),
}


def share(text: str) -> float:
    return unknown_share(text, bundled_selector().layout.tokenizer)


def weigh(text: str) -> float:
    return weigh_characters(text, bundled_selector().layout.tokenizer)


@pytest.mark.parametrize("language", CASES)
def test_shared_characters_rank_first_without_the_encoder(language: str) -> None:
    question, texts, answer = CASES[language]
    selector, read = recording_selector()
    documents = [make_input(None, text) for text in texts]
    scores = selector.score(question, documents)
    assert rank_sentences(documents, scores)[0].strip() == answer
    assert not read.inputs
    assert all(own.read is not None and all(own.read) for own in scores)


@pytest.mark.parametrize(
    "text",
    [
        "Who designed the lighthouse?",
        "What is photolithography?",
        "Who drew the map of Qaanaaq Kangerlussuaq Ittoqqortoormiit?",
        "Is Łódź larger than Đà Nẵng or Ærø 😀 ∑",
        "",
        "?!",
    ],
)
def test_an_english_question_is_left_to_the_model(text: str) -> None:
    assert weigh(text) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "Limanın kapatılmasından sonra hangi bakan istifa etti?",
        "Kuka ministeri erosi sataman sulkemisen jälkeen?",
        "De ce a fost abandonată linia de cale ferată dintre cele două văi?",
        "Który minister podał się do dymisji po zamknięciu portu?",
    ],
)
def test_model_and_characters_share_questions_of_broken_words(text: str) -> None:
    assert 0.0 < weigh(text) <= BROKEN_WEIGHT


def test_names_are_not_broken_words_and_one_is_forgiven() -> None:
    tokenizer = bundled_selector().layout.tokenizer
    assert broken_share("who painted it", tokenizer) == 0.0
    assert broken_share("who painted gorseby", tokenizer) == 0.0
    assert broken_share("who painted gorseby elmstead", tokenizer) == 0.25
    assert broken_share("who painted Gorseby Elmstead 1871", tokenizer) == 0.0
    assert broken_share("", tokenizer) == 0.0


def test_words_count_as_unknown_where_most_lose_their_marks() -> None:
    assert share("cầu cũ bắc suối dựng") == 1.0
    assert share("cầu cũ bắc con 1871 suoi") == 0.6
    assert share("cầu cũ con 1871 suoi") == 0.0
    assert share(unicodedata.normalize("NFD", "cầu cũ bắc suối dựng")) == 1.0


def test_a_question_in_two_scripts_is_shared() -> None:
    weight = weigh("Who wrote the novel Мастер?")
    assert 0.0 < weight < 1.0
    assert weight < weigh("Who wrote Мастер?") < weigh("Кто написал the Мастер?") <= 1.0


def test_words_match_through_their_endings() -> None:
    assert set(split_grams("маяком")) & set(split_grams("маяка"))
    assert split_grams("ＡＢ 灯塔") == ["ab", "灯塔"]


def test_logits_move_with_the_threshold() -> None:
    rows = ("маяк", ["", "маяк"], ["Маяк стар.", "Рынок."], np.array([0, 1]))
    difference = gram_logits(*rows, 0.5) - gram_logits(*rows, 0.2)
    np.testing.assert_allclose(difference, np.log(4.0))


@given(
    st.text(max_size=30),
    st.lists(
        st.tuples(st.text(max_size=10), st.lists(st.text(max_size=30), min_size=1, max_size=3)), max_size=4
    ),
)
def test_any_text_gets_numbers_in_the_order_of_its_documents(
    query: str, documents: list[tuple[str, list[str]]]
) -> None:
    def score(chosen: list[tuple[str, list[str]]]) -> list[float]:
        owner = np.repeat(np.arange(len(chosen)), [len(texts) for _, texts in chosen])
        texts = [text for _, own in chosen for text in own]
        return gram_logits(query, [title for title, _ in chosen], texts, owner, 0.5).tolist()

    logits = score(documents)
    assert np.isfinite(logits).all()
    parts = np.split(np.array(logits), np.cumsum([len(texts) for _, texts in documents])[:-1])
    turned = [x for part in reversed(parts) for x in part.tolist()] if documents else []
    np.testing.assert_allclose(score(documents[::-1]), turned, atol=1e-9)
