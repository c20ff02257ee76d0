// News for open pages. One stream tells which topics have moved; a part of the page that shows one
// of them (data-live="tenant:nlp queue:lab/train") then fetches itself with htmx. The part's own
// timer stays: it asks seldom while the stream is good, and as before when there is none.
"use strict";
(() => {
  const GAP = 700; // ms between two fetches of a part, at least
  const SHARE = 3; // and this many times as long as the last one took
  const JITTER = 150; // ms over which pages that hear the same news spread their fetches
  const SLOW = 25_000; // ms between two timed fetches while the stream is good
  const SILENT = 40_000; // ms without a sign of life, after which the stream is opened again
  const LATE = 3_000; // ms until a stream is open, after which its first news may be too little
  const AWAY = 10_000; // ms that a page may be hidden before it stops listening
  const FIRST = 5_000; // ms until a refused stream is tried again, doubling
  const LAST = 300_000; // up to this

  const parts = () => [...document.querySelectorAll("[data-live]")];
  const clocks = () => [...document.querySelectorAll("[data-alive]")];
  const words = (text) => (text ?? "").split(/\s+/).filter(Boolean);
  const now = () => performance.now();

  // --- fetching ---------------------------------------------------------------------------------

  const known = new WeakMap();
  const state = (part) => {
    if (!known.has(part)) known.set(part, { timer: 0, busy: false, again: false, began: 0, last: 0, next: 0 });
    return known.get(part);
  };

  // Have a part fetch itself soon. While it is on its way, one more fetch at most is remembered.
  const plan = (part) => {
    const its = state(part);
    if (its.busy) { its.again = true; return; }
    if (its.timer || document.hidden) return;
    its.timer = setTimeout(() => {
      its.timer = 0;
      if (part.isConnected) window.htmx?.trigger(part, "live");
    }, Math.max(Math.random() * JITTER, its.next - now()));
  };

  const before = (event) => {
    const part = event.detail.elt;
    if (!part.matches?.("[data-live]")) return;
    const its = state(part);
    const timed = !event.detail.requestConfig.triggeringEvent;
    if (its.busy || (timed && (document.hidden || (good && now() - its.last < SLOW)))) {
      event.preventDefault();
      return;
    }
    its.busy = true;
    its.began = now();
  };

  const after = (event) => {
    ages(event.detail.xhr);
    const part = event.detail.elt;
    const its = known.get(part);
    if (!its?.busy) return;
    its.busy = false;
    its.last = now();
    its.next = its.last + Math.max(GAP, SHARE * (its.last - its.began));
    if (its.again) { its.again = false; plan(part); }
  };

  // --- listening --------------------------------------------------------------------------------

  let source = null; // the open stream
  let listening = ""; // its topics
  let since = ""; // generation up to which this page was told everything
  let heard = 0;
  let good = false;
  let trusted = false; // since the parts were last fetched because it failed
  let pause = FIRST;
  let retry = 0;
  let leave = 0;

  const topics = () => {
    const named = parts().flatMap((part) => words(part.dataset.live));
    const alive = clocks().flatMap((clock) => words(clock.dataset.alive).map((name) => `alive:${name}`));
    return named.length ? [...new Set([...named, ...alive])].sort().join(",") : "";
  };

  const tell = (works) => {
    good = works;
    document.documentElement.dataset.stream = works ? "on" : "off";
  };

  const hear = (event, works) => {
    heard = now();
    since = event.lastEventId || since;
    pause = FIRST;
    trusted = true;
    tell(works);
  };

  const open = () => {
    clearTimeout(retry);
    const base = document.body.dataset.liveUrl;
    const wanted = topics();
    if (source || !base || !wanted || document.hidden || !window.EventSource || !window.htmx) return;
    const url = new URL(base, location.href);
    url.searchParams.set("topics", wanted);
    // How long ago this page was asked for: what has moved since then is told at once.
    if (since) url.searchParams.set("since", since);
    else url.searchParams.set("age", String(Math.ceil(now())));
    listening = wanted;
    heard = now();
    source = new EventSource(url, { withCredentials: true });
    const began = heard;
    // A browser holds a connection back when it has too many; then the age was no longer true.
    source.onopen = () => { if (now() - began > LATE) parts().forEach(plan); };
    source.onmessage = (event) => { hear(event, true); take(JSON.parse(event.data)); };
    source.addEventListener("beat", (event) => hear(event, true));
    source.addEventListener("blind", (event) => hear(event, false));
    source.addEventListener("barred", () => { source.close(); lost(); });
    source.onerror = lost;
  };

  const close = () => {
    clearTimeout(retry);
    source?.close();
    source = null;
    tell(false);
  };

  // The browser connects again by itself unless it was refused. Then a fetch tells why: it leads to
  // the sign-in page, or says that there is no such thing any more.
  const lost = () => {
    tell(false);
    if (source?.readyState !== EventSource.CLOSED) return;
    source = null;
    if (trusted) parts().forEach(plan);
    trusted = false;
    retry = setTimeout(open, pause * (0.75 + Math.random() / 2));
    pause = Math.min(pause * 2, LAST);
  };

  const take = (told) => {
    for (const part of parts()) {
      if (words(part.dataset.live).some((topic) => topic in told)) plan(part);
    }
    wind(told);
  };

  const wind = (told) => {
    for (const clock of clocks()) {
      const times = words(clock.dataset.alive).map((name) => told[`alive:${name}`]);
      const at = clock.querySelector("time[datetime]");
      // The generation of a sign of life is its time in microseconds.
      if (at && times.length && times.every(Boolean)) at.dateTime = new Date(Math.min(...times) / 1000).toISOString();
    }
  };

  // An answer tells the times as well, in the same unit: without a stream, and when it says that nothing has moved.
  const ages = (xhr) => {
    const pairs = words(xhr?.getResponseHeader("X-Alive")).map((pair) => pair.split("="));
    if (pairs.length) wind(Object.fromEntries(pairs.map(([name, at]) => [`alive:${name}`, Number(at)])));
  };

  const watch = () => {
    if (source && now() - heard > SILENT) { close(); open(); }
  };

  const show = () => {
    clearTimeout(leave);
    if (document.hidden) { leave = setTimeout(close, AWAY); return; }
    open();
    for (const part of parts()) {
      if (!good || now() - state(part).last > SLOW) plan(part);
    }
  };

  // --- swapping ---------------------------------------------------------------------------------

  // Fresh rows are worked into those on the screen: what somebody has opened, typed, marked or
  // scrolled to stays as it is.
  const own = (name, node) =>
    (name === "open" && node.matches("details, dialog")) ||
    (["value", "checked", "selected"].includes(name) &&
      node.matches("input:not([type=hidden]), textarea, select, option"));
  const keep = { beforeAttributeUpdated: (name, node) => !own(name, node) };

  window.htmx?.defineExtension("morph", {
    handleSwap: (style, target, fragment) =>
      style === "morph" && window.Idiomorph
        ? Idiomorph.morph(target, fragment.childNodes, { morphStyle: "innerHTML", callbacks: keep })
        : false,
  });

  document.addEventListener("DOMContentLoaded", () => {
    document.body.addEventListener("htmx:beforeRequest", before);
    document.body.addEventListener("htmx:afterRequest", after);
    document.body.addEventListener("htmx:afterSettle", () => {
      if (source && topics() !== listening) { close(); open(); }
    });
    document.addEventListener("visibilitychange", show);
    window.addEventListener("pagehide", close);
    window.addEventListener("pageshow", (event) => {
      if (!event.persisted) return;
      open();
      parts().forEach(plan);
    });
    setInterval(watch, 5_000);
    open();
  });
})();
