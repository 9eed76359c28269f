"""Lessons in two wordings, each with a third that is near to it and says something else.

A bank compares titles and descriptions, so that is what stands here.
"""

from __future__ import annotations

from typing import NamedTuple


class Triple(NamedTuple):
    """Titles with descriptions, joined as the bank joins them."""

    lesson: str
    same: str
    """The same lesson in other words."""
    other: str
    """A lesson on the same subject that must not replace it."""


TRIPLES: tuple[Triple, ...] = tuple(
    Triple(*lines)
    for lines in (
        (
            "Check two sources for a year. When a question asks in which year something happened.",
            "Compare two sources before giving a year. When the year of an event is asked for.",
            "Check two sources for a name. When a question asks who held an office.",
        ),
        (
            "Search the object before the place. When the builder of something is asked for.",
            "Name the object first in the query, then the place. When looking for who built something.",
            "Search the place before the object. When several objects have the same name.",
        ),
        (
            "Open the page of the archive. When a snippet gives only half of a table.",
            "Read the whole archive page. When the search shows a table that is cut off.",
            "Skip the page of the archive. When a snippet already gives the whole table.",
        ),
        (
            "Convert units before comparing. When lengths are given in feet and in metres.",
            "Bring lengths to one unit first. When some are in feet and others in metres.",
            "Keep the units of the source. When the answer is to quote a length.",
        ),
        (
            "Run the tests before editing. When a bug report names no file.",
            "Run the test suite first and edit afterwards. When the report does not say where the bug is.",
            "Edit before running the tests. When the test suite takes hours.",
        ),
        (
            "Retry with a longer timeout. When a download fails after thirty seconds.",
            "Raise the timeout and try again. When a download stops after half a minute.",
            "Do not retry. When a download fails because the file is gone.",
        ),
        (
            "Ask for the unit of the price. When a price list has no currency.",
            "Find out the currency first. When prices are listed without one.",
            "Ask for the date of the price. When a price list has several editions.",
        ),
        (
            "Follow the chain of owners. When a company was sold several times.",
            "Go through all owners one after the other. When a firm has changed hands more than once.",
            "Take the present owner only. When the question asks who owns a company now.",
        ),
        (
            "Use the maiden name. When a woman published before she married.",
            "Search under the name before the marriage. When an author married later.",
            "Use the pen name. When an author published under another name.",
        ),
        (
            "Prefer official statistics. When news reports give different populations.",
            "Take the number of the statistical office. When newspapers disagree about a population.",
            "Prefer news reports. When official statistics are older than the event.",
        ),
        (
            "Split the question in two. When the answer needs a person and that person's birthplace.",
            "Ask for the person first and for the birthplace second. When a question needs both.",
            "Ask the question as a whole. When one page names the person and the birthplace.",
        ),
        (
            "Read the error log from the end. When a build fails after many warnings.",
            "Start at the last lines of the log. When a build with many warnings breaks.",
            "Read the error log from the beginning. When the first error causes all others.",
        ),
        (
            "Quote the exact title. When a search gives too many films.",
            "Put the title in quotation marks. When a search finds films in abundance.",
            "Leave out the title. When a film has different titles in different countries.",
        ),
        (
            "Check the time zone. When two logs disagree by whole hours.",
            "Compare the zones of the clocks. When the times of two logs differ by full hours.",
            "Check the clock's drift. When two logs disagree by a few seconds.",
        ),
        (
            "Stop after the answer is confirmed. When two pages agree and turns are left.",
            "Do not search on once two pages agree. When the answer is confirmed and turns are left over.",
            "Use all turns. When two pages agree and a third one contradicts them.",
        ),
        (
            "Back up the table first. When a migration removes a column.",
            "Copy the table before the migration. When a column is going to be dropped.",
            "Lock the table first. When a migration fills a column while users write.",
        ),
        (
            "Filter by language. When a query finds pages in many languages.",
            "Restrict the results to one language. When pages in several languages come up.",
            "Translate the query. When pages in the user's language do not have the answer.",
        ),
        (
            "Count from the table, not from the text. When a report sums up its own numbers.",
            "Trust the table more than the summary. When a report repeats its figures in prose.",
            "Count from the text, not from the table. When the table covers another year.",
        ),
        (
            "Look for the second edition. When a book's page numbers do not fit.",
            "Find another edition of the book. When its pages are numbered differently.",
            "Look for the translator. When a book's wording does not fit.",
        ),
        (
            "Mock the clock. When a test fails only at midnight.",
            "Use a fixed time in the test. When it breaks around midnight alone.",
            "Mock the network. When a test fails only without a connection.",
        ),
        (
            "Sort by date before reading. When a thread has more than fifty messages.",
            "Put the messages in order of time. When there are over fifty in a thread.",
            "Sort by author before reading. When a thread has messages of three people.",
        ),
        (
            "Give the distance by road. When someone asks how far a town is by car.",
            "Answer with the way by road. When the distance for a car is wanted.",
            "Give the distance in a straight line. When someone asks how far apart two towns are.",
        ),
        (
            "Check the spelling of the name. When a search finds nothing about a person.",
            "Try other spellings of a name. When nothing is found about somebody.",
            "Check the first name. When a search finds several people of one name.",
        ),
        (
            "Close the connection in the end. When a script opens many databases.",
            "Shut connections when done. When a program opens several databases.",
            "Keep the connection open. When a script asks one database many times.",
        ),
        (
            "Take the earliest date. When sources name the founding and the opening of a museum.",
            "Use the first of the dates. When a museum was founded and opened in different years.",
            "Take the latest date. When sources name the closing and the reopening of a museum.",
        ),
        (
            "Remove the filter. When a query with three conditions finds nothing.",
            "Drop one of the conditions. When a search with three of them has no result.",
            "Add a filter. When a query with one condition finds everything.",
        ),
        (
            "Ask which harbour. When a town has an old and a new one.",
            "Find out which of the harbours is meant. When there are two in a town.",
            "Ask which year. When a harbour was dug and widened.",
        ),
        (
            "Pin the version. When a library changed its interface.",
            "Fix the version of the dependency. When its interface is no longer the same.",
            "Update the version. When a library has a security fix.",
        ),
        (
            "Use the index of the register. When a parish has hundreds of pages.",
            "Start with the register's index. When the book of a parish is very long.",
            "Read the register page by page. When a parish has no index.",
        ),
        (
            "Compare checksums. When a copied file seems broken.",
            "Verify the hash of the copy. When a file may have been damaged on the way.",
            "Compare sizes. When a thousand files were copied and time is short.",
        ),
        (
            "Write the plan down first. When a task has more than five steps.",
            "Begin with a written plan. When there are over five steps to do.",
            "Begin without a plan. When a task has a single step.",
        ),
        (
            "Read the footnotes. When a number in a table has a star.",
            "Look at the notes below the table. When a figure is marked with a star.",
            "Ignore the footnotes. When only the order of the rows is asked for.",
        ),
        (
            "Search for the successor. When an office was renamed.",
            "Look up the new name of the office. When the old one is no longer used.",
            "Search for the predecessor. When an office is younger than the event.",
        ),
        (
            "Reproduce the bug first. When a user reports a crash.",
            "Make the crash happen yourself before anything else. When somebody reports one.",
            "Ask for the log first. When a user reports a crash on another system.",
        ),
        (
            "Use fewer words. When a search for a long question finds nothing.",
            "Shorten the query. When the whole question as a query has no results.",
            "Use more words. When a search for one word finds too much.",
        ),
        (
            "Check who wrote the page. When an advert looks like a report.",
            "Look for the author of the text. When it might be advertising.",
            "Check when the page was written. When a report may be out of date.",
        ),
        (
            "Round at the end. When a sum has many small numbers.",
            "Do not round before the last step. When many small figures are added.",
            "Round at once. When a sum has to match a printed table of rounded numbers.",
        ),
        (
            "Take the map of that year. When borders have moved since.",
            "Use a map from the time of the event. When the borders were different then.",
            "Take the present map. When a route for today is asked for.",
        ),
        (
            "Release the lock on errors. When a worker may crash while it holds one.",
            "Give locks back also when something fails. When a worker could die holding one.",
            "Take the lock later. When a worker waits for the network while it holds one.",
        ),
        (
            "Answer with a list. When a question asks for all members of a band.",
            "List every member. When all people of a band are asked for.",
            "Answer with one name. When a question asks for the founder of a band.",
        ),
    )
)
