// The little that pages do beyond links and forms. Everything works without this file.
"use strict";
(() => {
  const root = document.documentElement;

  // Theme: the system's, or the one chosen here. Set before the first paint.
  const stored = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("theme", theme); } catch { /* private mode */ } };
  if (["light", "dark"].includes(stored())) root.dataset.theme = stored();
  const dark = () =>
    (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

  // Ages count on between two answers of the server, in the page's own words.
  const words = () => JSON.parse(document.querySelector('meta[name="age-words"]')?.content || "{}");
  let say = {};
  const spell = (seconds) => {
    if (seconds < 60) return say.s.replace("#", seconds);
    if (seconds < 3600) return say.m.replace("#", Math.floor(seconds / 60));
    if (seconds < 172800) return say.h.replace("#", Math.floor(seconds / 3600));
    return say.d.replace("#", Math.floor(seconds / 86400));
  };
  const write = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const tick = () => {
    if (!say.s || document.hidden) return;
    for (const node of document.querySelectorAll("time[data-age], time[data-since]")) {
      const seconds = Math.round((Date.now() - Date.parse(node.dateTime)) / 1000);
      if (Number.isNaN(seconds)) continue;
      const span = spell(Math.abs(seconds));
      if ("since" in node.dataset) { write(node, span); continue; }
      write(node, (seconds < 0 ? say.in : say.ago).replace("#", span));
      const box = node.closest("[data-interval]");
      if (!box) continue;
      const every = Number(box.dataset.interval);
      box.classList.toggle("is-old", seconds > 10 * every);
      box.classList.toggle("is-late", seconds > 2 * every && seconds <= 10 * every);
      box.classList.toggle("is-fresh", seconds <= 2 * every);
    }
  };

  const problem = (show) => {
    const place = document.getElementById("problem");
    const text = document.getElementById("offline");
    if (!place || !text) return;
    place.replaceChildren(...(show ? [text.content.cloneNode(true)] : []));
    if (show) place.scrollIntoView({ block: "nearest" });
  };

  document.addEventListener("click", (event) => {
    const toggle = event.target.closest("[data-theme-toggle]");
    if (toggle) {
      root.dataset.theme = dark() ? "light" : "dark";
      keep(root.dataset.theme);
    }
    const opener = event.target.closest("[data-open]");
    if (opener) document.getElementById(opener.dataset.open)?.showModal?.();
    event.target.closest("[data-close]")?.closest("dialog")?.close();
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      menu.open = false;
      menu.querySelector("summary")?.focus();
    }
  });

  // A second click on a form that is on its way does nothing. The server's key is the guarantee.
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post" || event.defaultPrevented) return;
    if (event.target.dataset.sent) { event.preventDefault(); return; }
    event.target.dataset.sent = "1";
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  });

  document.addEventListener("DOMContentLoaded", () => {
    say = words();
    for (const node of document.querySelectorAll("[data-theme-toggle]")) node.hidden = false;
    document.body.addEventListener("htmx:sendError", () => problem(true));
    document.body.addEventListener("htmx:timeout", () => problem(true));
    document.body.addEventListener("htmx:afterOnLoad", (event) => {
      if (event.detail.successful) problem(false);
    });
    document.body.addEventListener("htmx:afterRequest", (event) => {
      const form = event.target.closest?.("form");
      if (form) delete form.dataset.sent;
    });
    document.body.addEventListener("htmx:afterSwap", (event) => {
      tick();
      // What was said about the last step is old news beside a newer state.
      if (event.target.matches?.("[data-live]")) {
        for (const node of document.querySelectorAll(".messages [role=status]")) node.remove();
      }
      const said = event.target.querySelector?.("[data-say]");
      if (said) write(document.getElementById("said"), said.dataset.say);
    });
    tick();
    setInterval(tick, 1000);
  });
})();
