"""What each lesson asks, and the answer; the pictures are in ``figures.learn``, the numbers in the lab."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lesson:
    """One lesson: its id in links, its title, a thing to try, a question and the answer; words it needs beforehand."""

    id: str
    title: str
    task: str
    question: str
    answer: str
    meaning: str = ""


_LESSONS = (
    Lesson(
        "whitening",
        "Whitening",
        "Make the needle longer: whitening rounds it all the same. Then take public rows away.",
        "What do public rows do here, and what does it cost to read them?",
        "They choose the units in which private rows are seen, so that no direction is much shorter than another. They "
        "are public, so reading them costs nothing; too few of them choose the units badly.",
        "Whitening turns and rescales the columns so that the public rows look like a ball. The condition number is "
        "the square of the longest direction over the shortest: 1 for a ball.",
    ),
    Lesson(
        "public-rows",
        "How many public rows?",
        "Raise the columns at a fixed number of public rows.",
        "How many public rows does a table of 20 columns need?",
        "More than 20, or some direction is unknown; with ten times as many the condition number is about 4, and more "
        "buys little.",
    ),
    Lesson(
        "inverse",
        "Noise and the inverse",
        "Set the condition to 1, then to 30, at the same budget.",
        "Why does noise of one size hurt one slope more than the other?",
        "Least squares divides by the moment. Where the moment is small, the same noise is divided by a small number.",
    ),
    Lesson(
        "radius",
        "The radius",
        "Find the radius with the smallest error, then lower the budget and find it again.",
        "Does a smaller budget want a smaller or a larger radius?",
        "A smaller one: the noise grows with the radius squared, so at a small budget it pays to shorten some rows.",
    ),
    Lesson(
        "composition",
        "Composition",
        "Ask for four releases, then sixteen.",
        "What do four releases of mu = 0.5 cost together?",
        "mu = 1: the squares add up, four times 0.25 is 1, and the root of 1 is 1.",
    ),
    Lesson(
        "questions",
        "One release, every question",
        "Ask one question, then a hundred, at the same total budget.",
        "Why do a hundred regressions from one released moment cost no more than one?",
        "They are computed from what has already left. Only the release itself looked at the private rows.",
    ),
    Lesson(
        "pairs",
        "Epsilon and delta",
        "Hold mu and move delta.",
        "Two papers report epsilon = 3. Is one as private as the other?",
        "Only at the same delta and the same neighbouring tables. mu says it for every delta at once.",
    ),
    Lesson(
        "rows",
        "Several rows per person",
        "Give one person five rows.",
        "The table has one row per visit. What does the guarantee protect?",
        "A visit. A person with k visits has k times the mu; bound the visits per person, or say so in the report.",
    ),
    Lesson(
        "bands",
        "Bands that hold",
        "Take the noise out of the band at a small budget.",
        "Why not use the textbook's confidence interval?",
        "It knows of sampling only. The noise is a second source of error; its size is public, so it can be put in.",
    ),
    Lesson(
        "trust",
        "Whom to trust",
        "Find how many people the local model needs for what a curator does with 100.",
        "When is the local model worth its price?",
        "When nobody may see the rows, or when there are so many people that a root of n of them is enough.",
    ),
    Lesson(
        "sites",
        "Several sites",
        "Let one site collude, then four, among five and among thirty.",
        "How can sites that trust nobody have the error of one curator?",
        "Each hands out its sum in shares that say nothing alone, with a share of the noise. Only the total is opened, "
        "and its noise is one curator's.",
    ),
    Lesson(
        "leaks",
        "Leaks",
        "Look at each mistake at mu = 1.",
        "The noise is right. How can the release leak all the same?",
        "Anything computed from the private rows and not paid for leaks: a radius, a symbol, a weight, a failure.",
    ),
    Lesson(
        "retrieval",
        "Retrieved budget",
        "Raise the curvature until nothing is spent on the Jacobian.",
        "When does a budget really come back?",
        "When the amount is known before a private row is read. Computed from the private fit, it has to be paid.",
    ),
    Lesson(
        "newton",
        "Newton and labels",
        "Take more steps at a small budget, then at a large one.",
        "Why not take fifty steps, to be sure?",
        "Each step looks at the rows, so each is paid for: noise per step grows with the root of their number, and "
        "after a few steps the fit moves no further anyway.",
    ),
    Lesson(
        "objective",
        "Noise in the objective",
        "Raise the ridge at mu = 0.1, then at mu = 3.",
        "Why is one draw of noise enough here, where Newton needs two for every step?",
        "The noise is part of what is minimized, and only the minimum leaves, once. The ridge is what makes that safe.",
    ),
    Lesson(
        "moor",
        "One weight, two purposes",
        "Raise the ridge that privacy needs, and see where the lasso ends.",
        "What does it cost to add the two penalties instead of taking the larger?",
        "Coefficients are pulled by both where one would do: over-regularization. The larger of the two adds less.",
    ),
    Lesson(
        "response-scale",
        "The response scale",
        "Move c from 0.3 to 10.",
        "Why stretch the response before the release?",
        "One ball holds row and response. A longer response gets a larger share of the same noise budget, until the "
        "ball itself grows: the best is where both are equally long.",
    ),
    Lesson(
        "bounds",
        "Theory and measurement",
        "Take private rows away until the theorem is silent.",
        "A bound holds and is a hundred times what is measured. What is it good for?",
        "For how things grow: with rows, columns, budget. For how large an error will be, predict it from public rows.",
    ),
)

LESSONS = {lesson.id: lesson for lesson in _LESSONS}
