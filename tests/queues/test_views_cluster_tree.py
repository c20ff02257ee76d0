"""The tree of departments and queues of a cluster, who lends, and how its free devices lie."""

import re

import pytest

from queues.models import ObservedObject
from tenants.models import Department, Pool, Revision
from tests.cast import MARK
from tests.queues import pages, seen
from tests.queues.connected import PAGE, connect, open_

pytestmark = pytest.mark.usefixtures("open_networks")


@pytest.fixture
def full(lab):
    return connect(lab)


# --- the tree, who lends, how free devices lie -----------------------------------------------------


def test_queues_stand_below_their_departments_with_sums(full, client):
    said = pages.words(open_(client, full.dave, PAGE))
    tree = said.partition("Departments and queues")[2]

    assert "Research (department) 32 / 24 a100" in tree
    assert tree.index("Research") < tree.index("cv-train") < tree.index("nlp-train")
    assert "24 / 16 large training · a100 borrows 8" in tree


def test_departments_nest(full, client):
    lab = Department.objects.create(cluster=full.cluster, name="lab", display_name="Lab A", spec={})
    Department.objects.filter(name="research").update(parent=lab)
    text = re.sub(r">\s+<", "><", pages.text(open_(client, full.dave, PAGE)))

    assert '<tr class="department in0"><th scope="row">Lab A' in text
    assert '<tr class="department in1"><th scope="row">Research' in text
    assert '<tr class="in2"><td><a class="open" href="/c/lab/queues/cv-train/">' in text


def test_queue_that_the_catalog_lacks_is_counted_for_the_platform(full, client):
    seen.observed(full.cluster, "ClusterQueue", f"wild-{MARK}", seen.queue_body(1, 0))
    said = pages.words(open_(client, full.dave, PAGE))
    assert "1 queue of the cluster is not in the catalog." in said

    answer = open_(client, full.alice, PAGE)
    assert "not in the catalog" not in pages.words(answer)
    pages.nothing_of_others(answer)


def lends(cluster, **held):
    for name, number in held.items():
        row = ObservedObject.objects.get(name=f"{name}-train", cluster=cluster)
        nominal = 16 if name == "nlp" else 8
        row.body = seen.queue_body(nominal, number)
        row.save(update_fields=["body"])


def test_who_borrows_from_whom(full, client):
    lends(full.cluster, nlp=20, cv=2)
    said = pages.words(open_(client, full.dave, PAGE)).partition("Who borrows from whom")[2]

    assert "Research a100 · 4 GPUs borrowed" in said
    assert "cv-train 4" in said
    assert "4 nlp-train" in said


def test_a_lender_of_another_tenant_has_no_name(full, client):
    lends(full.cluster, nlp=20, cv=2)
    answer = open_(client, full.alice, PAGE)
    said = pages.words(answer).partition("Who borrows from whom")[2]

    assert "1 queue of others 4" in said
    assert "4 nlp-train" in said
    assert "cv-train" not in pages.text(answer)


def test_nothing_borrowed_draws_nothing(full, client):
    lends(full.cluster, nlp=4, cv=2)

    assert "Who borrows from whom" not in pages.text(open_(client, full.dave, PAGE))


def racks(cluster, *used):
    """Four hosts in two racks, each with so many devices taken."""
    revision = cluster.revisions.first()
    levels = [{"name": "racks", "levels": ["example.com/rack", "kubernetes.io/hostname"]}]
    pool = Pool.objects.get(cluster=cluster)
    Pool.objects.update(spec=pool.spec | {"topology": "racks"})
    Revision.objects.create(
        cluster=cluster, number=revision.number + 1, digest="x", summary="racks",
        catalog=revision.catalog | {"topologies": levels},
    )  # fmt: skip
    for number, taken in enumerate(used):
        row = ObservedObject.objects.get(name=f"gpu-{number}", cluster=cluster)
        row.body["labels"]["example.com/rack"] = f"r{number // 2}"
        if taken is not None:
            row.body["used"] = {"nvidia.com/gpu": taken}
        row.save(update_fields=["body"])


def gangs_of(client):
    """The cells of the table, line by line."""
    table = pages.text(client.get(PAGE)).partition('<table class="list gangs">')[2]
    lines = table.partition("<tbody>")[2].partition("</tbody>")[0].split("</tr>")[:-1]
    cells = [re.split(r"(?:<[^>]*>)+", line) for line in lines]
    return [[each.strip() for each in line if each.strip()] for line in cells]


def test_largest_gang_of_a_host_and_of_a_rack(full, client):
    racks(full.cluster, 4, 4, 6, 2)
    said = pages.words(open_(client, full.bob, PAGE)).partition("How the free devices")[2]

    assert "topology racks" in said
    assert (
        "16 of 32 GPUs are free on the hosts; 16 of them lie where no pod of 8 GPUs fits." in said
    )
    assert gangs_of(client) == [
        ["one host", "gpu-3", "6", "6", "4", "0"],
        ["one rack", "r0", "8", "8", "8", "0"],
        ["all together", "16", "16", "12", "0"],
    ]


def test_where_pods_are_not_known_the_page_says_so(full, client):
    said = pages.words(open_(client, full.bob, PAGE)).partition("How the free devices")[2]

    assert "By quota 0 GPUs are free. Where they lie is not known" in said
    assert "one host" not in said


def test_one_host_of_which_nothing_is_known(full, client):
    racks(full.cluster, 4, 4, 6, None)
    said = pages.words(open_(client, full.bob, PAGE)).partition("How the free devices")[2]

    assert "10 of 32 GPUs are free on the hosts" in said
    assert "Of 8 GPUs more it is not known whether they are free." in said


def test_host_that_takes_no_pods_and_host_without_a_label(full, client):
    racks(full.cluster, 0, 0, 0)
    for name, change in (("gpu-2", {"ready": False}), ("gpu-3", {"used": {}})):
        row = ObservedObject.objects.get(name=name)
        row.body |= change
        row.save(update_fields=["body"])
    said = pages.words(open_(client, full.bob, PAGE)).partition("How the free devices")[2]

    assert "1 host takes no pods now and is not counted." in said
    assert "1 host lacks a label of the topology" in said


def test_a_name_from_the_cluster_is_escaped_on_the_map(full, client):
    racks(full.cluster, 0, 0, 0, 0)
    row = ObservedObject.objects.get(name="gpu-0")
    row.body["labels"]["example.com/rack"] = "<script>alert(1)</script>"
    row.save(update_fields=["body"])

    assert "<script>alert" not in pages.text(open_(client, full.bob, PAGE))


@pytest.mark.parametrize(
    "body", [{}, {"labels": None}, {"labels": {}, "allocatable": None, "used": 7}]
)
def test_a_machine_may_hold_any_body(full, client, body):
    ObservedObject.objects.filter(kind="Node").update(body=body)

    assert open_(client, full.dave, PAGE).status_code == 200
