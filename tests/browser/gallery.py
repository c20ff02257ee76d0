"""Every part of the look with data as it comes up in a working day."""

from datetime import timedelta
from types import SimpleNamespace

from django import forms
from django.contrib.messages import constants
from django.contrib.messages.storage.base import Message
from django.http import HttpResponse
from django.urls import path
from django.utils import timezone

from portal.web.parts import Change, Impact, MeterLine, Moment, Step
from portal.web.states import STATES
from portal.web.templatetags.svg import Sample

urlpatterns = [
    path("logout/", lambda request: HttpResponse(), name="logout"),
    path("language/", lambda request: HttpResponse(), name="set_language"),
]
TB = 1024**4
H100 = "H100 SXM 80 GB"
YAML = """apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: nlp-research-train
spec:
  cohortName: language
"""


class RequestForm(forms.Form):
    nominal = forms.IntegerField(
        label="Quota", help_text="Yours at any time; others may borrow it while it is idle."
    )
    borrowing = forms.IntegerField(label="May borrow", max_value=16)
    until = forms.DateField(label="Until", required=False, help_text="Empty: for good.")
    kind = forms.ChoiceField(
        label="For", choices=[("t", "Training"), ("i", "Inference")], widget=forms.RadioSelect
    )
    reason = forms.CharField(label="Reason", widget=forms.Textarea(attrs={"rows": 3}))
    agree = forms.BooleanField(label="I have told the other leads of the department")


class Page:
    before, after, total = "", "k", 48

    def __len__(self):
        return 6


def nav():
    def item(label, current=False, count=0):
        return {"label": label, "url": "#", "current": current, "count": count}

    return [
        {"label": "Me", "items": [item("My jobs", count=6), item("My requests")]},
        {
            "label": "nlp-research",
            "items": [item("Home", True), item("Queues"), item("Costs"), item("People")],
        },
        {"label": "Decide", "items": [item("Requests", count=3), item("Plans"), item("Drift")]},
        {
            "label": "Platform",
            "items": [item("Catalog"), item("Clusters"), item("Calendar"), item("Audit")],
        },
    ]


def jobs(now):
    rows = [
        ("train-llm-13b", "waiting", 41, 3, 16, "7 more GPUs are needed", "20 to 60 min"),
        ("eval-sweep-204", "cannot_run", 190, "", 64, "64 is more than quota and limit allow", ""),
        ("finetune-legal-7b", "making_room", 2, 1, 8, "2 jobs are being stopped", "1 to 3 min"),
        ("tokenise-2026-11", "running", 320, "", 4, "", ""),
        ("train-asr-large-v4-seed-17", "preempted", 12, 4, 8, "NLP took 8 GPUs back", "2 to 4 h"),
        ("ablation-rope", "finished", 900, "", 8, "", ""),
    ]
    return [
        SimpleNamespace(
            name=name,
            state=state,
            since=now - timedelta(minutes=minutes),
            hint="Asks for more than this queue can ever give" if state == "cannot_run" else "",
            position=position,
            gpus=gpus,
            flavor=H100,
            why=why,
            wait=wait,
        )
        for name, state, minutes, position, gpus, why, wait in rows
    ]


def meters():
    return [
        MeterLine(label=H100, unit="GPU", nominal=16, held=12, borrowing_limit=8,
                  lending_limit=4, borrowable_now=6),
        MeterLine(label="A100 PCIe 40 GB", unit="GPU", nominal=32, held=40, borrowed=8,
                  borrowing_limit=16, borrowable_now=4),
        MeterLine(label="L40S", unit="GPU", nominal=8, held=3, lent=4, borrowing_limit=0,
                  lending_limit=4, borrowable_now=0),
        MeterLine(label="H200 spot", unit="GPU", nominal=8, held=14, borrowed=6,
                  borrowing_limit=4, lending_limit=0, borrowable_now=0),
        MeterLine(label="Memory", unit="memory", nominal=2 * TB, held=int(1.25 * TB),
                  borrowing_limit=TB, lending_limit=0),
    ]  # fmt: skip


def changes():
    queue, entry = "ClusterQueue nlp-research-train", "LocalQueue nlp-dev/train"
    gpu = "quota of H100 SXM 80 GB"
    return [
        Change(queue, f"{gpu}, nominal", 16, 24, "~", "8 more, always theirs", YAML),
        Change(queue, f"{gpu}, may borrow", 8, 4, "~", "4 fewer on loan"),
        Change(queue, "preempts within its cohort", "LowerPriority", "Any", "~", ""),
        Change(entry, "cluster queue", None, "nlp-research-train", "+", "jobs may be sent here"),
        Change("LocalQueue nlp-dev/old", "", None, None, "-", "no job uses it"),
    ]


def context():
    now = timezone.now()
    form = RequestForm(
        {"nominal": "24", "borrowing": "40", "kind": "t", "reason": "", "until": "2026-12-24"}
    )
    person, lead = "Mara Lindqvist", "Jonas Weber"
    return {
        "nav": nav(),
        "person": person,
        "person_role": "Lead of nlp-research",
        "crumbs": [{"label": "Tenants", "url": "#"}, {"label": "language", "url": "#"}],
        "switches": [
            {
                "label": "Cluster",
                "current": "fra-1",
                "items": [{"label": "fra-1", "url": "#", "current": True}],
            }
        ],
        "freshness": [
            {"name": "fra-1", "observed_at": now - timedelta(seconds=12), "interval": 15},
            {"name": "osl-2", "observed_at": now - timedelta(minutes=4), "interval": 15},
        ],
        "messages": [
            Message(constants.SUCCESS, "The request was sent. The plan is being made."),
            Message(constants.WARNING, "osl-2 has not answered for 4 min. Its numbers are old."),
        ],
        "hour_ago": now - timedelta(hours=1),
        "minute_ago": now - timedelta(minutes=3),
        "digest_value": "sha256:9f2c1be07d11aa42c3",
        "meters": meters(),
        "jobs": jobs(now),
        "page": Page(),
        "moments": [
            Moment(now - timedelta(hours=5), "Submitted", "submitted"),
            Moment(now - timedelta(hours=4), "Running on 16 GPUs", "running"),
            Moment(
                now - timedelta(hours=2),
                "Preempted",
                "preempted",
                "a job with a higher priority came; 31 GPU-hours were lost",
            ),
            Moment(now - timedelta(minutes=41), "Waiting for quota", "waiting"),
        ],
        "change": [
            Step("Request", "done", person, now - timedelta(hours=3)),
            Step("Plan", "done", "", now - timedelta(hours=3), "4 objects"),
            Step("Decided", "done", lead, now - timedelta(hours=1), "approved"),
            Step("Applied", "now", "", None, "2 of 4 objects"),
            Step("In the cluster"),
        ],
        "changes": changes(),
        "impacts": [
            Impact(3, "waiting jobs start", "run", ("train-llm-13b, 16 GPUs", "2 of others")),
            Impact(1, "running job would be preempted", "bad", (), "18 GPU-hours would be lost"),
            Impact(2, "tenants lose borrowing room", "wait", ("vision: 4 GPUs", "speech: 4 GPUs")),
        ],
        "form": form,
        "samples": [
            Sample(f"{hour:02}:00", held, 16)
            for hour, held in enumerate([4, 8, 8, 12, 16, 16, 20, 22, 18, 16, 12, 12, 14, 16, 9])
        ],
        "problem": {
            "message": "The cluster changed since this plan was made.",
            "code": "GP-1002",
            "status": 409,
            "request_id": "7f3a90c2",
        },
        "states": list(STATES),
    }
