// What the frame does in the browser itself: times, light and dark, whether the host still answers.
// Nothing here puts text from outside into a page other than as text.
(() => {
  const UTC = "nomospace.utc";
  const LOOK = "nomospace_look";
  const LOOKS = ["auto", "light", "dark"];
  const pad = (n, width = 2) => String(n).padStart(width, "0");

  // What is typed into a field is not meant for the page.
  const typing = (target) =>
    target instanceof Element &&
    target.closest("input, textarea, select, [contenteditable=true], [contenteditable=''], .cm-editor") !== null;

  // -- times: relative to the host's clock, exact on hover, UTC on request ------------------------
  const time = {
    skew: 0, // what the host's clock is ahead of the browser's, in microseconds
    utc: localStorage.getItem(UTC) === "1",
    now() {
      return Date.now() * 1000 + this.skew;
    },
    heard(at) {
      if (at) this.skew = at - Date.now() * 1000;
    },
    clock(at) {
      const d = new Date(at / 1000);
      return this.utc
        ? `${pad(d.getUTCHours())}:${pad(d.getUTCMinutes())}:${pad(d.getUTCSeconds())}`
        : `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
    },
    exact(at) {
      const d = new Date(at / 1000);
      const ms = pad(d.getUTCMilliseconds(), 3);
      if (this.utc) return d.toISOString().replace("T", " ").replace(/\.\d+Z$/, `.${ms} UTC`);
      return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${this.clock(at)}.${ms}`;
    },
    span(us) {
      const s = Math.floor(Math.max(0, us) / 1e6);
      if (s >= 3600) return `${Math.floor(s / 3600)} h ${pad(Math.floor((s % 3600) / 60))} min`;
      if (s >= 60) return `${Math.floor(s / 60)} min ${pad(s % 60)} s`;
      return `${s} s`;
    },
    relative(at) {
      const now = this.now();
      return at > now ? `in ${this.span(at - now)}` : `${this.span(now - at)} ago`;
    },
    tick() {
      for (const one of document.querySelectorAll("time[data-at]")) {
        const at = Number(one.dataset.at);
        const text = one.dataset.as === "clock" ? time.clock(at) : time.relative(at);
        if (one.textContent !== text) one.textContent = text;
        one.title = time.exact(at);
      }
      const clock = document.getElementById("rail-clock");
      if (clock) clock.textContent = time.clock(time.now()) + (time.utc ? " UTC" : "");
    },
    // What is new on the page says its time at once, not with the next second.
    watch() {
      const told = (node) => node.nodeType === 1 && (node.matches("time") || node.querySelector("time"));
      new MutationObserver((changes) => {
        if (changes.some((one) => [...one.addedNodes].some(told))) time.tick();
      }).observe(document.body, { childList: true, subtree: true });
      time.tick();
    },
    toggleUtc() {
      time.utc = !time.utc;
      localStorage.setItem(UTC, time.utc ? "1" : "0");
      time.tick();
      window.dispatchEvent(new Event("nomospace-clock"));
    },
  };

  // -- light and dark: remembered in a cookie, so that the host draws the page right at once ------
  const look = {
    get() {
      const found = document.cookie.match(/(?:^|; )nomospace_look=(\w+)/);
      return found && LOOKS.includes(found[1]) ? found[1] : "auto";
    },
    next() {
      const chosen = LOOKS[(LOOKS.indexOf(this.get()) + 1) % LOOKS.length];
      document.cookie = `${LOOK}=${chosen}; path=/; max-age=31536000; samesite=strict`;
      window.setDark(chosen === "auto" ? null : chosen === "dark");
      this.label();
    },
    label() {
      const button = document.getElementById("rail-look");
      if (!button) return;
      const words = { auto: "as the system", light: "light", dark: "dark" };
      const said = `Look: ${words[this.get()]}. Change`;
      if (button.getAttribute("aria-label") !== said) {
        button.setAttribute("aria-label", said);
        button.title = said;
      }
    },
  };

  // -- stories: the keyboard goes into the drawer and comes back where it was ---------------------
  // Nothing takes it away from where it has gone meanwhile: the answer of a host comes when it comes.
  const boxed = () => document.querySelector(".palette, .q-dialog") !== null;
  const story = {
    from: null,
    // The address of the page says which story is open, and the way back leads to the one before.
    address(which) {
      const to = new URL(location.href);
      const others = to.search.slice(1).split("&").filter((one) => one && !one.startsWith("story="));
      to.search = [...others, ...(which ? [`story=${which.replaceAll("%", "%25")}`] : [])].join("&");
      if (to.href !== location.href) history.pushState(null, "", to);
    },
    opened() {
      const active = document.activeElement;
      if (active && !active.closest(".story")) this.from = active;
      setTimeout(() => {
        const close = document.querySelector(".story .story-close");
        if (close && !boxed() && !typing(document.activeElement)) close.focus({ preventScroll: true });
      }, 60);
    },
    shut() {
      const active = document.activeElement;
      const free = !active || active === document.body || active.closest(".story");
      if (free && !boxed() && this.from?.isConnected) this.from.focus({ preventScroll: true });
      this.from = null;
    },
  };

  // -- what was typed, and where one was, when a host that was started anew makes the page anew ------
  // Boxes with a name of their own keep their text themselves; these are all the others.
  const LEFT = "nomospace.left";
  const boxes = () => [...document.querySelectorAll("#place :is(input, textarea)")].filter(
    (one) => !one.closest(".typed, .cm-editor") && ["text", "search", "number", "textarea"].includes(one.type));
  const nameOf = (one) => one.getAttribute("aria-label") || one.labels?.[0]?.textContent || one.placeholder || "";
  const place = {
    leave() {
      const typed = boxes().map((one) => [nameOf(one), one.value]).filter(([name, text]) => name && text);
      const left = { at: location.pathname, typed, focus: nameOf(document.activeElement ?? document.body), y: scrollY };
      try { sessionStorage.setItem(LEFT, JSON.stringify(left)); } catch { /* there is no room */ }
    },
    async comeBack() {
      let left = null;
      try {
        left = JSON.parse(sessionStorage.getItem(LEFT));
        sessionStorage.removeItem(LEFT);
      } catch { /* nothing was left */ }
      if (left?.at !== location.pathname) return;
      for (let tries = 0; tries < 40 && !(window.did_handshake && document.querySelector("#place main")); tries++)
        await new Promise((done) => setTimeout(done, 100));
      for (const [name, text] of left.typed) {
        const box = boxes().find((one) => nameOf(one) === name);
        if (!box || box.value) continue;
        box.value = text;
        box.dispatchEvent(new Event("input", { bubbles: true }));
        if (left.focus === name) box.focus({ preventScroll: true });
      }
      scrollTo(0, left.y);
    },
  };

  // -- the host: does it answer, and does it still know us? ---------------------------------------
  const SESSION_ENDED = 4401;
  const LASTED = "this session has lasted";
  const host = {
    away: false,
    over: false,
    banner(text) {
      let found = document.getElementById("host-banner");
      if (!found) {
        found = document.createElement("div");
        found.id = "host-banner";
        found.setAttribute("role", "status");
        document.body.append(found);
      }
      found.textContent = text;
      found.hidden = !text;
    },
    end(title, why) {
      if (this.over) return;
      this.over = true;
      window.socket?.disconnect();
      this.banner("");
      document.getElementById("app")?.remove();
      for (const left of document.querySelectorAll(".q-dialog, .q-menu, .q-notifications")) left.remove();
      const page = document.createElement("main");
      page.className = "over";
      page.setAttribute("role", "alert");
      const head = document.createElement("h1");
      head.textContent = title;
      const said = document.createElement("p");
      said.textContent = why;
      const link = document.createElement("a");
      link.textContent = "Log in";
      // In full: a mere path would be taken for a place of this page, which has ended.
      link.href = `${location.origin}/login?to=${encodeURIComponent(location.pathname + location.search)}`;
      page.append(head, said, link);
      document.body.append(page);
      link.focus();
    },
    // Who was away too long finds what was typed; who was logged out leaves nothing for the next one.
    ended(reason) {
      if (this.over) return;
      if (reason.startsWith(LASTED)) {
        place.leave();
        this.end("Log in again", `${reason[0].toUpperCase()}${reason.slice(1)}. This place is kept, and what was typed.`);
      } else {
        try { sessionStorage.clear(); } catch { /* the browser keeps none */ }
        this.end("You are logged out", "This session has ended: it was logged out, or its token counts no more.");
      }
    },
    async look() {
      if (this.over || !this.away) return;
      let answer = null;
      try {
        answer = await fetch("/v1/me", { cache: "no-store", signal: AbortSignal.timeout(3000) });
      } catch {
        // nobody answers yet
      }
      if (answer?.status === 401) {
        place.leave();
        this.end("Log in again", "The host does not know this window any more: the session has ended, or the host was restarted without it. This place is kept, and what was typed.");
        return;
      }
      if (answer?.ok && !window.socket.connected) window.socket.connect();
      setTimeout(() => this.look(), 1000);
    },
    watch() {
      const socket = window.socket;
      if (!socket) {
        setTimeout(() => this.watch(), 50);
        return;
      }
      socket.on("disconnect", (_, details) => {
        if (details?.context?.code === SESSION_ENDED) {
          this.ended(details.context.reason ?? "");
        } else if (!this.over && !this.away) {
          this.away = true;
          document.body.classList.add("host-away"); // what is seen is old
          this.banner("The host does not answer. This page goes on as soon as it is back.");
          setTimeout(() => this.look(), 300);
        }
      });
      socket.on("connect", () => {
        if (this.away) {
          // The host may be another life: then the page is made anew, and finds what is left here.
          place.leave();
          setTimeout(() => { try { sessionStorage.removeItem(LEFT); } catch { /* none */ } }, 5000);
        }
        this.away = false;
        document.body.classList.remove("host-away");
        this.banner("");
      });
    },
    async logOut() {
      try {
        await fetch("/v1/session", { method: "DELETE" });
      } finally {
        // Whoever sits down next must not find what was typed here.
        try { sessionStorage.clear(); } catch { /* the browser keeps none */ }
        this.end("You are logged out", "Nothing of this host is shown any more.");
      }
    },
  };

  // By hand: to begin to write numbers in its own way takes a browser longer than to draw the page.
  const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");

  window.nomospace = { time, look, story, host, typing, grouped };
  document.addEventListener("keydown", (event) => {
    // Where there is a command box, it listens for this key.
    if (event.key === "Escape" && !window.nomospace.palette) document.querySelector(".story-close")?.click();
  });
  document.addEventListener("DOMContentLoaded", () => {
    host.watch();
    time.watch();
    place.comeBack();
    setInterval(() => {
      time.tick();
      look.label();
    }, 1000);
  });
})();
