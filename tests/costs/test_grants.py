"""What queues and cohorts had over time: at every instant what a plain look at the changes says."""

from hypothesis import given
from hypothesis import strategies as st

from costs.facts import Grant, Pool
from costs.grants import Change, quotas
from costs.lending import Quota

GPU = Pool("a100", "nvidia.com/gpu")
OTHER = Pool("h100", "nvidia.com/gpu")
NAMES = ("a", "b", "c")
LINES = st.dictionaries(st.sampled_from([GPU, OTHER]), st.builds(Quota, st.integers(0, 9)))


def changes(names):
    one = st.builds(
        Change, st.sampled_from(names), st.integers(0, 30), st.sampled_from(["", *NAMES]),
        st.none() | LINES,
    )  # fmt: skip
    # As they come from the database: those of one name in their order.
    return st.lists(one, max_size=12).map(lambda found: sorted(found, key=lambda each: each.since))


def last(found, name, at):
    """The change that holds, if it is not one that says that there is nothing."""
    before = [each for each in found if each.name == name and each.since <= at]
    return before[-1] if before and before[-1].lines is not None else None


def path(cohorts, name, at):
    found = [name]
    while (change := last(cohorts, found[-1], at)) and change.parent:
        if change.parent in found:
            break
        found.append(change.parent)
    return tuple(reversed(found))


@given(changes(("q", "r")), changes(NAMES))
def test_every_instant_is_as_the_changes_say(queues, cohorts):
    result = quotas(queues, cohorts)
    for at in range(32):
        wanted = {}
        for name in ("q", "r"):
            if change := last(queues, name, at):
                place = path(cohorts, change.parent, at) if change.parent else ()
                wanted |= {(name, pool): Grant(place, q) for pool, q in change.lines.items()}
        grants = {key: dated.at(at) for key, dated in result.grants.items()}
        assert {key: value for key, value in grants.items() if value is not None} == wanted
        own = {
            (path(cohorts, name, at), pool): quota
            for name in NAMES if (change := last(cohorts, name, at))
            for pool, quota in change.lines.items()
        }  # fmt: skip
        found = {key: dated.at(at) for key, dated in result.cohorts.items()}
        assert {key: value for key, value in found.items() if value is not None} == own


def test_a_queue_moves_with_the_cohorts_above_it():
    queues = [Change("q", 0, "team", {GPU: Quota(8)})]
    cohorts = [Change("team", 0, "", {}), Change("team", 10, "lab", {GPU: Quota(1)})]
    result = quotas(queues, cohorts)
    dated = result.grants["q", GPU]
    assert (dated.starts, [each.path for each in dated.values]) == (
        [0, 10], [("team",), ("lab", "team")],
    )  # fmt: skip
    assert result.cohorts[("lab", "team"), GPU].at(10) == Quota(1)


def test_what_stays_the_same_is_one_step():
    queues = [Change("q", at, "", {GPU: Quota(8)}) for at in (0, 5, 9)]
    assert quotas(queues, []).grants["q", GPU].starts == [0]
