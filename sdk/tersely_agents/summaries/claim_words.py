"""The English words by which `claims` and `alterations` compare two statements: modals, negations,
quantifiers, opposites, units and numbers."""

from __future__ import annotations

from collections.abc import Mapping

_BREAKS = """
    , ; : ( ) – — and but or while whereas which who because although though if when unless so
"""
BREAKS = frozenset(_BREAKS.split())
"""Tokens between two clauses."""

_OBLIGED = """
    must|mustn't|shall|have to|has to|had to|need to|needs to|required|obliged|mandatory|obligatory
"""
_ADVISED = "should|shouldn't|ought|recommended|advised|advisable"
MODALS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(_OBLIGED.strip().split("|"), frozenset({"obliged"})),
    **dict.fromkeys(_ADVISED.split("|"), frozenset({"advised"})),
    **dict.fromkeys(("may", "can", "cannot", "can't"), frozenset({"allowed", "possible"})),
    **dict.fromkeys(("allowed", "permitted", "optional"), frozenset({"allowed"})),
    **dict.fromkeys(("might", "could", "couldn't"), frozenset({"possible"})),
    **dict.fromkeys(("would", "wouldn't"), frozenset({"would"})),
    **dict.fromkeys(("will", "won't"), frozenset({"will"})),
}
"""The meaning of each modal; "may" says that something is allowed or possible."""
WEAK_MODALS = frozenset({"can", "will", "won't"})
"""Modals that a sentence may add: "can find" for "finds"."""

_NEGATIONS = "not no never none nobody nothing neither nor without cannot"
NEGATIONS = frozenset(_NEGATIONS.split())
"""Negations, besides words that end in n't."""

_QUANTIFIERS = """
    all every each everybody everyone|none no nobody neither|some somebody someone a_few|many|most|few|half
    both|only solely exclusively|almost nearly|exactly|at_least no_fewer_than no_less_than not_less_than
    at_most up_to no_more_than not_more_than|more_than|less_than fewer_than|always|often
    usually normally typically generally|sometimes occasionally|rarely seldom|never
"""
_GROUPS = [group.split() for line in _QUANTIFIERS.strip().splitlines() for group in line.split("|")]
QUANTIFIERS: Mapping[str, frozenset[str]] = {
    **{word.replace("_", " "): frozenset({group[0]}) for group in _GROUPS for word in group},
    "several": frozenset({"some", "many"}),
    "any": frozenset({"all", "any"}),
}
"""The meaning of each quantifier, by the first word of its group."""
MAY_DROP = frozenset({"all", "many", "both", "always", "often", "exactly", "none", "never"})
"""Quantifiers that a sentence may drop, because it claims no more without them, or because they are compared
as negations."""
MAY_ADD = frozenset(
    {"any", "some", "many", "few", "both", "often", "none", "never", "more_than", "less_than"}
)
"""Quantifiers that a sentence may add if the source has no quantifier, or that are compared as negations or
comparatives."""
_BOUNDING = """
    over above past upwards exceed exceeds exceeded exceeding surpass surpasses surpassed plus greater larger
    bigger longer higher older later heavier under below beneath short smaller shorter lower younger earlier
    lighter
"""
BOUNDING = frozenset(_BOUNDING.split())
"""Words by which a source says that a number is a bound. Without them, "more than" and "less than" may not be
added to its number."""
PHRASES = sorted(
    (tuple(phrase.split()) for phrase in (*MODALS, *QUANTIFIERS) if " " in phrase), key=len, reverse=True
)
"""Modals and quantifiers of several words, the longest first."""

_OPPOSITES = """
    higher/lower highest/lowest high/low upper/lower above/below above/under over/under longer/shorter
    longest/shortest long/short larger/smaller largest/smallest large/small bigger/smaller biggest/smallest
    greater/smaller greater/less greatest/smallest more/less more/fewer most/least most/fewest faster/slower
    fastest/slowest quicker/slower quieter/louder cheaper/dearer older/newer older/younger oldest/newest
    oldest/youngest old/new earlier/later earliest/latest earlier/latest before/after first/last
    warmer/colder warmer/cooler hotter/colder warmest/coldest heavier/lighter heaviest/lightest
    deeper/shallower wider/narrower widest/narrowest stronger/weaker strongest/weakest better/worse best/worst
    maximum/minimum maximum/average minimum/average rise/fall rose/fell rises/falls risen/fallen rose/dropped
    rose/declined grew/fell grew/shrank grow/shrink increase/decrease increase/reduce increase/decline
    increased/decreased increased/reduced increased/declined grew/decreased rose/decreased increased/fell
    gained/lost won/lost open/closed opens/closes opened/closed north/south east/west northern/southern
    eastern/western left/right true/false enabled/disabled enable/disable allow/forbid accepted/rejected
    accept/reject legal/illegal include/exclude included/excluded success/failure succeeded/failed buy/sell
    bought/sold imports/exports positive/negative thicker/thinner brighter/darker richer/poorer safer/riskier
    longer/less easier/harder nearer/farther closer/farther
"""
_GRADES = "more/most less/least better/best worse/worst"
_MONTHS = "january february march april may june july august september october november december"
MONTHS = frozenset(_MONTHS.split())
COMPARING = frozenset({"than", "before", "after"})
"""Words that relate the things before and after them, so that swapping the two changes the meaning."""

_ONES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth"
ONES: Mapping[str, int] = {word: number for number, word in enumerate(_ONES.split())}
TENS: Mapping[str, int] = {word: 20 + 10 * number for number, word in enumerate(_TENS.split())}
ORDINALS: Mapping[str, int] = {word: number for number, word in enumerate(_ORDINALS.split(), 1)}

_UNITS = """
    mg milligram milligrams|g gram grams|kg kilogram kilograms kilo kilos|t tonne tonnes ton tons
    lb lbs pound pounds|oz ounce ounces|µg microgram micrograms
    nm nanometre nanometres nanometer nanometers|µm micrometre micrometres|mm millimetre millimetres
    cm centimetre centimetres centimeter centimeters|m metre metres meter meters
    km kilometre kilometres kilometer kilometers|mile miles|ft foot feet|inch inches|yard yards
    ml mL millilitre millilitres milliliter milliliters|l L litre litres liter liters|gallon gallons
    ns nanosecond nanoseconds|µs microsecond microseconds|ms millisecond milliseconds|s sec second seconds
    min minute minutes|h hr hour hours|day days|week weeks|month months|year years|decade decades
    century centuries|B byte bytes|kB KB kilobyte kilobytes|MB megabyte megabytes|GB gigabyte gigabytes
    TB terabyte terabytes|bit bits|Kbit kilobit kilobits|Mbit megabit megabits|Gbit gigabit gigabits
    W watt watts|kW kilowatt kilowatts|MW megawatt megawatts|GW gigawatt gigawatts|V volt volts
    A amp amps ampere amperes|J joule joules|kJ kilojoule kilojoules|cal calorie calories
    kcal kilocalorie kilocalories|Hz hertz|kHz kilohertz|MHz megahertz|GHz gigahertz|dB decibel decibels
    C celsius|F fahrenheit|K kelvin|% percent|‰|percentage|basis|hectare hectares|acre acres|square|cubic
    knot knots|mph|thousand|million|billion|trillion|dozen|$ dollar dollars|€ euro euros|£|¥ yen
    crown crowns|franc francs|cent cents|point points
"""
JOINTS = frozenset({"per", "/", "a", "an", "°"})
"""Tokens that join two units."""


def _read_pairs(text: str) -> dict[str, frozenset[str]]:
    pairs = [pair.split("/") for pair in text.split()]
    both = [*pairs, *(pair[::-1] for pair in pairs)]
    return {word: frozenset(second for first, second in both if first == word) for word, _ in both}


OPPOSITES = _read_pairs(_OPPOSITES)
GRADES = _read_pairs(_GRADES)
"""Irregular comparatives and superlatives."""
_UNIT_GROUPS = [group.split() for line in _UNITS.strip().splitlines() for group in line.split("|")]
UNITS: Mapping[str, str] = {name: group[0] for group in _UNIT_GROUPS for name in group}
"""First name of the unit by each of its names; abbreviations keep their case."""
