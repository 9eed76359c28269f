"""Words that identify statements of users, in English and German."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["rule", "constraint", "decision", "preference", "goal", "fact", "identifier"]
"""Kinds of statements, the most binding first."""


def _any(words: str) -> re.Pattern[str]:
    """Compile alternatives, one or more a line, divided by " | "; they match whole words only."""
    parts = (part.strip() for line in words.strip().splitlines() for part in line.split(" | "))
    return re.compile(rf"(?<!\w)(?:{'|'.join(filter(None, parts))})(?!\w)", re.IGNORECASE)


LABEL = re.compile(r"\s*(?:[-*•]\s+)?(?P<label>[^\W\d][\w/ -]{1,30}?):\s+(?P<body>\S.*)", re.DOTALL)
"""A statement that names its kind, such as "RULE: ask first"."""
LABELS: dict[Kind, re.Pattern[str]] = {
    "rule": _any(r"(?:\w+ )?rules? | policy | regeln? | vorschrift"),
    "constraint": _any(
        r"""
        (?:\w+ )?constraints? | limits? | deadline | budget | bedingung | vorgabe | grenze | frist
        requirement
        """
    ),
    "decision": _any(
        r"""
        (?:\w+ )?decisions? | decided | agreed | beschluss | entscheidung | update | correction
        """
    ),
    "preference": _any(r"(?:\w+ )?preferences? | style | wunsch | vorliebe | stil"),
    "goal": _any(
        r"""
        (?:\w+ )?goals?(?: state)? | state | status | todo | to do | task | next(?: steps?)? | ziel
        aufgabe | stand
        """
    ),
    "fact": _any(r"(?:\w+ )?facts? | info | note | remember | important | wichtig | hinweis | fakt"),
}

CUES: dict[Kind, re.Pattern[str]] = {
    "rule": _any(
        r"""
        never | always | must | mustn['’]t | do not | don['’]t | under no circumstances | not allowed
        forbid\w* | forbidden | prohibit\w* | off[- ]limits | no exceptions? | may not | may only
        shall not | no one may | before you | without (?:asking|consent|approval|permission|my)
        ask (?:me )?(?:first|before) | nie | niemals | immer | auf keinen fall
        unter keinen umständen | darf | dürfen | muss | müssen | verboten | keinesfalls | ohne mich
        ohne rücksprache | bitte nicht
        """
    ),
    "constraint": _any(
        r"""
        at most | at least | no more than | not more than | no later than | maximum | minimum | max
        min | limit\w* | cap | capped | ceiling | budget | deadline | due | below | up to | within
        between \S+ and | (?:can|could|may|will) spend | only | cannot | can['’]t | have to | has to
        needs? to | should not | shouldn['’]t | allerg\w+ | longer than | less than | more than
        requires? | unless | höchstens | mindestens | maximal | frist | bis zum | spätestens
        nicht mehr als | nur | brauch\w+ | benötig\w+ | unter \d\S* | über \d\S*
        """
    ),
    "decision": _any(
        r"""
        decided | decision | settled on | agreed | chose | chosen | picked | go(?:ing)? with
        we['’]ll use | we will use | sticking with | changed (?:my|our) minds? | second thoughts?
        entschieden | beschlossen | vereinbart | geeinigt | wir nehmen | festgelegt
        """
    ),
    "preference": _any(
        r"""
        prefer\w* | (?:i|we)['’]d rather | i like | (?:i|we)['’]d (?:like|love) | (?:i|we|user) wants?
        would like | favou?rites? | please | wishes | works best | style | bevorzug\w+ | lieber
        möchte\w* | hätte\w* | ich mag | bitte | wünsch\w+ | am liebsten
        """
    ),
    "goal": _any(
        r"""
        next (?:step|up|comes|is) | is next | comes after | right now | currently | in progress | todo
        (?:is|are) (?:still )?open | still open | open questions? | waiting | we wait | awaiting
        pending | blocked | failing | (?:is|are) done | finished | remaining | working on
        i am (?:porting|writing|building|fixing) | steht\b.*\ban | als nächstes | offen | noch nicht
        gerade | erledigt | warte\w* | fehlt
        """
    ),
}
IMPERATIVE = _any(
    r"""
        answer | write | use | keep | cite | send | make | give | show | reply | respond | format
        run | include | describe | call | name | report | put | avoid | stop | remember | note | treat
        leave | skip | round | mark | list | ask | schreibe? | antworte | nutze | verwende | benutze
        halte | verschicke | sende | nenne | gib | zeige? | achte | merke? | rechne | runde | lass
        ruf
        """
)
"""First words of an instruction."""
NEGATIVE = _any(r"no | nothing | none | nobody | kein | keine | keinen | nichts | niemand")
"""First words of a ban."""
PERSONAL = _any(
    r"""
        i am | i['’]m | i have | i live | i work | i use | i teach | i run | i operate | i stay
        i need | i look | my | our | we are | we have | we use | we run | ich bin | ich habe
        ich wohne | ich arbeite | ich brauche | mein\w{0,2} | unser\w{0,2} | wir haben | wir sind
        wir planen | i['’]ve
        """
)
"""The first words of statements that people make about themselves."""
PAST = _any(
    r"""
        yesterday
        last (?:night|week|month|time|session|monday|tuesday|wednesday|thursday|friday|weekend)
        this morning | earlier today | was | were | had | gestern | vorhin | letzte\w* | heute morgen
        war | waren
        """
)
"""Words of sentences that mostly report the past instead of what is true now."""

UPDATE = _any(
    r"""
        now | instead | from (?:now|today) on | from today | as of | by now | no longer
        not any ?more | any ?more | changed? | changes | changing | moved? | moves | updat\w+
        upgrad\w+ | switch\w* | replac\w+ | rais\w+ | lower\w* | increas\w+ | decreas\w+ | extend\w+
        extension (?=was|is|until|to) | granted | postpone\w* | push(?:ed)? | resched\w+ | shift\w*
        revis\w+ | correct\w+ | actually | make that | second thoughts? | scrap\w* | forget | ignore
        drop(?:ped)? | cancel\w* | supersed\w+ | overrid\w+ | new | newer | latest | left | closed
        took over | takes over | back from | bump\w* | slipp\w+ | rotated | rotates | rebas\w+
        renam\w+ | previous | used to be | would rather | mistake | wrong | sorry | meant
        rather than | not \S+ but | jetzt | nun | stattdessen | statt | ab sofort | ab \w+ | künftig
        nicht mehr | doch | sondern | geändert | ändert | verschoben | verlegt | erhöht | gesenkt
        aktualisiert | korrigiert | korrektur | vergiss | vergesst | neue?[rsnm]? | ersetzt | abgelöst
        anders
        """
)
"""Words that say that a statement changes an earlier one."""
REPLACED = _any(
    r"""
        forget | scrap | ignore | drop | cancel | no longer | not any ?more | instead of | rather than
        disregard | abandon\w* | never mind | nicht mehr | statt | anstelle | vergiss | vergesst
        verwirf | streich\w* | abgesagt
        """
)
"""Words in front of a value that is no longer valid."""
PRONOUN = _any(
    r"""
        keep (?:it|them) | it | they | them | that | this | he | she | there | es | sie | er | das
        dies | ihn | make | send | use
        """
)
"""First words of a clause with the subject of the clause before."""

ACKNOWLEDGEMENT = _any(
    r"""
        ok | okay | thanks? | thank you | you are welcome | welcome | great | good | fine | perfect
        nice | sure | yes | right | understood | acknowledged | noted | recorded | and | will do
        got it | sounds | continuing | with | the plan | of course | certainly | done | gladly | cool
        all | let us | let['’]s | go on | that | helps | it | i | will | a | an | is | are | to | you
        very | well | so | then | ha | hm | danke | gern | gerne | gut | alles klar | klar
        verstanden | in ordnung | prima | super | notiert | ja | machen wir | weiter | das | hilft
        mir | geschehen | sehr | schön
        """
)
"""Words of messages that only acknowledge another message."""

CONCEPTS: dict[str, re.Pattern[str]] = {
    "money": _any(
        r"""
        budget\w* | caps? | ceiling | spend\w* | costs? | expenses? | expenditure | allowance
        ausgaben | kosten | etat
        """
    ),
    "deadline": _any(
        r"""
        deadlines? | due | ships? | shipping | launch\w* | releas\w+ | go[- ]live | hand\w* in
        deliver\w* | cutoff | submit\w* | submission | target date | frist\w* | abgabe\w* | fällig
        liefer\w+
        """
    ),
    "home": _any(
        r"""
        lives? | living | stay\w* | flat | apartment | home | address | wohn\w+ | bleib\w+ | umzieh\w+
        adresse
        """
    ),
    "person": _any(
        r"""
        leads? | leading | owners? | owns | in charge | responsible | manager | heads? | on-?call
        pager | duty | belongs to | handles | is handling | covers | leitung | leitet | zuständig\w*
        übernimmt
        """
    ),
    "phone": _any(r"phone | telephone | mobile | handy\w* | telefon\w* | reached"),
    "name": _any(
        r"""
        code ?names? | called | calling | designated | known as | labels? | nam(?:e|ed) | titled?
        heißt | genannt
        """
    ),
    "secret": _any(
        r"""
        (?:access[- ])?codes? | passwords? | passphrases? | pins? | secrets? | safe ?words? | tokens?
        kennwort | passwort
        """
    ),
    "branch": _any(r"branch(?:es)? | rebased? | checked out | development | zweig"),
    "clock": _any(
        r"""
        times? | timestamps? | clocks? | time ?zones? | hours | uhrzeiten | zeiten | zeitzone
        """
    ),
    "answers": _any(
        r"""
        answers? | repl(?:y|ies) | responses? | respond | wording | tone | style | antwort\w* | stil
        ton
        """
    ),
}
"""Things that statements are about, each with the words that name it."""
CONCEPT_VALUES: dict[str, tuple[str, ...]] = {
    "money": ("money",),
    "deadline": ("date", "time"),
    "home": ("name",),
    "person": ("name",),
    "phone": ("identifier", "number"),
    "name": ("identifier", "name"),
    "secret": ("identifier",),
    "branch": ("identifier", "name"),
    "clock": ("zone",),
    "answers": ("tone", "units"),
}
"""Kinds of values that a statement about each of these things may hold."""
SLOTS: dict[str, re.Pattern[str]] = {
    "zone": _any(
        r"""
        utc(?:[+-]\d+)? | gmt(?:[+-]\d+)? | [ce]s?t | ce?st | e[sd]t | p[sd]t | local time | zone/\w+
        (?:pacific|eastern|central|mountain|european|greenwich) (?:standard )?time
        (?:europe|america|asia|africa)/\w+
        """
    ),
    "tone": _any(
        r"""
        terse | brief | briefly | short | concise | succinct | verbose | detailed | long | thorough
        formal | informal | casual | playful | warm | light | friendly | dry | neutral | humorous
        polite | blunt | kurze?n? | knappe?n? | ausführlich\w* | förmlich\w* | locker\w*
        freundlich\w* | sachlich\w*
        """
    ),
    "units": _any(r"metric | imperial | metrisch\w* | celsius | fahrenheit"),
}
"""Values that exclude each other: a new one replaces the old one, even if no word says so."""
