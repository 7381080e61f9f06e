"""Regular expressions in RE2's syntax: https://github.com/google/re2/wiki/Syntax.

What matches is what RE2 says, where that is not what Python's ``re`` says above all.
"""

from __future__ import annotations

import random
import re
import unicodedata

import pytest

from minirt.errors import SchemaError, UnsupportedError
from minirt.kernels.regex import Regex
from minirt.kernels.regex_sets import ANY, category, contains, inverted, union

#: Pattern, texts that it matches, texts that it does not.
MATCHES = [
    ("", [""], ["a"]),
    ("abc", ["abc"], ["ab", "abcd", ""]),
    ("a|bc|", ["a", "bc", ""], ["abc", "b"]),
    ("a(b|c(d|e))f", ["abf", "acdf", "acef"], ["acf", "af"]),
    ("é😀", ["é😀"], ["e"]),
    # Any character
    (".", ["a", "é", "😀"], ["\n", "", "ab"]),
    ("(?s).", ["\n", "a"], [""]),
    # Repetitions
    ("a*", ["", "aaa"], ["b"]),
    ("a+?", ["a", "aa"], [""]),
    ("(ab)?", ["", "ab"], ["a"]),
    ("a{2}", ["aa"], ["a", "aaa"]),
    ("a{2,}", ["aa", "aaaa"], ["a"]),
    ("a{1,3}?", ["a", "aaa"], ["", "aaaa"]),
    ("(a|b){0}", [""], ["a"]),
    ("(?:a*)*", ["", "aa"], ["b"]),
    ("(a{10}){100}", ["a" * 1000], ["a" * 999]),
    ("^*a", ["a"], [""]),
    # What is no repetition is text.
    ("a{,2}", ["a{,2}"], ["aa"]),
    ("a{2", ["a{2"], ["aa"]),
    ("a{01}", ["a{01}"], ["a"]),
    ("{", ["{"], [""]),
    ("]}", ["]}"], []),
    # Classes
    ("[abx-z]", ["a", "y"], ["c", "-"]),
    ("[^a]", ["b", "\n", "é"], ["a"]),
    ("[]a]", ["]", "a"], ["["]),
    ("[^]a]", ["b"], ["]"]),
    ("[a-]", ["a", "-"], ["b"]),
    ("[-a]", ["a", "-"], ["b"]),
    ("[a-c-e]", ["b", "-", "e"], ["d"]),
    ("[[:alpha:]_]", ["a", "_"], ["1", "é"]),
    ("[[:^digit:]]", ["a"], ["1"]),
    ("[[:punct:]]", ["!", "~", "_"], ["a"]),
    ("[[:word:]]", ["a", "0", "_"], ["-"]),
    ("[:alpha:]", [":", "a", "p"], ["b"]),
    (r"[\d\]]", ["1", "]"], ["a"]),
    (r"[\x{100}-\x{200}]", ["ā", "\u0200"], ["a"]),
    ("[&&a]", ["&", "a"], ["b"]),
    # Perl's classes are of ASCII alone, and \v is no blank.
    (r"\d+", ["12"], ["١٢"]),
    (r"\w", ["a", "_", "1"], ["é"]),
    (r"\W", ["é", " "], ["a"]),
    (r"\s", [" ", "\t", "\n", "\f", "\r"], ["\v", "\u00a0"]),
    (r"\S\D", ["é."], [" .", "a1"]),
    # Unicode's categories
    (r"\pL", ["é", "Ж"], ["1"]),
    (r"\PL", ["1"], ["é"]),
    (r"\p{Lu}", ["Ж"], ["ж"]),
    (r"\p{^Lu}", ["ж"], ["Ж"]),
    (r"\P{^Lu}", ["Ж"], ["ж"]),
    (r"[\pN_]", ["¾", "_"], ["a"]),
    (r"\p{Any}", ["\n", "😀"], [""]),
    # Places
    ("^a$", ["a"], ["a\n"]),
    (r"\Aa\z", ["a"], ["a\n"]),
    ("a$\nb", [], ["a\nb"]),
    ("(?m)a$\n^b", ["a\nb"], ["ab"]),
    ("(?m)^$\n^$", ["\n"], [""]),
    (r"\ba\b.\B", ["a-"], ["ab"]),
    (r"\b", [], [""]),
    (r"\B", [""], ["a"]),
    (r"é\b", [], ["é"]),
    # Flags
    ("(?i)aß", ["A\u1e9e", "aß"], ["Ass", "ASS"]),
    ("(?i)k", ["K", "\u212a"], ["\u0137"]),
    ("(?i)i", ["I"], ["\u0131", "\u0130"]),
    ("(?i)[^k]", ["a"], ["K", "\u212a"]),
    ("(?i)[a-c]σ", ["Bς", "cΣ"], ["dσ"]),
    ("(?i:a)b", ["Ab"], ["aB"]),
    ("a(?i)b|c", ["aB", "C"], ["Ab"]),
    ("((?i)a)b", ["Ab"], ["AB"]),
    ("(?i)a(?-i)b", ["Ab"], ["AB"]),
    ("(?is-m).", ["\n"], []),
    ("(?U)a+", ["aa"], [""]),
    # Groups with names
    ("(?P<one>a)(?<two_2>b)", ["ab"], ["a"]),
    # Escapes
    (r"\.\*\_\-\/", [".*_-/"], ["a*_-/"]),
    (r"\x41\x{1F600}\101\12\0", ["A😀A\n\0"], []),
    (r"\a\f\n\r\t\v", ["\a\f\n\r\t\v"], []),
    (r"\Qa.b\E*", ["a.", "a.bb"], ["axb"]),
    (r"\Q\d", [r"\d"], ["1"]),
]


@pytest.mark.parametrize(("pattern", "matching", "others"), MATCHES, ids=lambda p: repr(p))
def test_whole_texts(pattern, matching, others):
    regex = Regex(pattern)
    assert [text for text in matching if not regex.matches(text)] == []
    assert [text for text in others if regex.matches(text)] == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a", "missing )"),
        ("a)", "unexpected )"),
        ("[a", "missing ]"),
        ("[]", "missing ]"),
        ("[z-a]", "a range ends before it begins"),
        (r"[a-\d]", r"no escape \d"),
        ("[[:letter:]]", "no class [:letter:]"),
        ("*a", "nothing to repeat"),
        ("a|+", "nothing to repeat"),
        ("(?:*)", "nothing to repeat"),
        ("a**", "a repetition is repeated"),
        ("a{2}{3}", "a repetition is repeated"),
        ("a*+", "a repetition is repeated"),
        ("a{1001}", "{1001} is no number of repetitions"),
        ("a{3,2}", "{3,2} is no number of repetitions"),
        ("(a{40}){40}", "more than 1000 repetitions"),
        ("(?=a)", "( is followed by"),
        ("(?<=a)", "( is followed by"),
        ("(?P=a)", "( is followed by"),
        ("(?x)a", "( is followed by"),
        ("(?i", "( is followed by"),
        ("(?P<a>b)(?P<a>c)", "the name a is used twice"),
        (r"(a)\1", r"no escape \1"),
        (r"\8", r"no escape \8"),
        (r"a\Z", r"no escape \Z"),
        (r"\x4", r"no escape \x"),
        (r"\x{110000}", r"no escape \x"),
        (r"\é", r"no escape \é"),
        ("a\\", "it ends too early"),
        (r"\p", "needs a name"),
        ("(" * 1001 + ")" * 1001, "more than 1000 groups"),
    ],
    ids=lambda p: repr(p)[:30],
)
def test_what_re2_does_not_take(pattern, why):
    with pytest.raises(SchemaError, match=re.escape(why)) as error:
        Regex(pattern)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "pattern", [r"\C", r"\p{Greek}", r"\pX", "((a{900}b{900}){1}|c{999}){1}" * 99]
)
def test_what_is_not_supported(pattern):
    with pytest.raises(UnsupportedError):
        Regex(pattern)


def test_time_is_linear_in_the_text():
    # Each of these takes a search that tries one way after the other for ever.
    for pattern in ("(a+)+", "(a|a)*", "(a*)*b?", "a?" * 100 + "a" * 100, "(.*,){11}"):
        regex = Regex(pattern)
        assert not regex.matches("a" * 5_000 + "!")


def test_groups_as_deep_as_they_may_be():
    regex = Regex("(" * 1000 + "a" + ")*" * 1000)
    assert regex.matches("aaa") and not regex.matches("b")


def test_more_transitions_than_are_remembered():
    regex = Regex("(?:[^a]|a[^b])*")
    text = "".join(map(chr, range(0x4E00, 0x9E00)))
    assert len(text) > 20_000
    assert regex.matches(text)
    assert not regex.matches(text + "ab")


ATOMS = ["a", "b", ".", "[ab]", "[^a]", "(?:a|b)", "(a)", "a*", "b?", "a+", "(ab)*", "|", "a{1,2}"]


def test_simple_patterns_mean_what_they_mean_in_python():
    choose = random.Random(5)
    for _ in range(200):
        pattern = "".join(choose.choices(ATOMS, k=choose.randint(1, 5)))
        texts = ["".join(choose.choices("abc", k=choose.randint(0, 5))) for _ in range(20)]
        ours, theirs = Regex(pattern), re.compile(pattern)
        assert [ours.matches(t) for t in texts] == [bool(theirs.fullmatch(t)) for t in texts]


# Sets of code points


@pytest.mark.parametrize("name", ["L", "Lu", "Nd", "P", "Sm", "Z", "C", "Cs"])
def test_categories_are_those_of_unicode(name):
    members = category(name)
    assert members is not None
    for code in range(0, 0x110000, 23):
        found = unicodedata.category(chr(code))
        assert contains(members, code) == (found.startswith(name) and found != "Cn")


def test_inverted_sets():
    for members in ((), ANY, (0, 5), (5, 9), (5, 0x110000), (0, 3, 7, 9)):
        assert inverted(inverted(members)) == members
        for code in (0, 2, 3, 5, 8, 9, 0x10FFFF):
            assert contains(members, code) != contains(inverted(members), code)


def test_unions():
    assert union([(5, 9), (0, 2), (8, 12), (2, 3)]) == (0, 3, 5, 12)
    assert union([]) == ()
