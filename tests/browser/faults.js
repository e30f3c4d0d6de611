// What is wrong with a page, found in the page itself: each function answers with sentences.
window.faults = (() => {
  const CODE = ".lawtext, .cm-scroller, .member-rule, [data-adopted]"; // it may scroll sideways
  const USED = "button, a[href], input, select, textarea, [role=button], [role=tab]";
  const HARD = ["serious", "critical"];
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 60)));
  const words = (one) => (one.getAttribute("aria-label") || one.textContent || one.placeholder || "").trim();
  const name = (one) => `${one.tagName.toLowerCase()}.${[...one.classList].join(".")} "${words(one).slice(0, 40)}"`;
  const seen = (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && one.getClientRects().length;

  // What is wider than the window, scrolls sideways, or has its words cut.
  function cut() {
    const wide = document.documentElement.clientWidth;
    const over = document.scrollingElement.scrollWidth - wide;
    const found = over > 0 ? [`the page is ${over} px too wide`] : [];
    for (const one of document.body.querySelectorAll("*")) {
      if (!seen(one) || one.closest(CODE) || one.closest("svg, .skip")) continue;
      const style = getComputedStyle(one);
      if (style.clipPath !== "none") continue; // only read out
      const more = one.clientWidth > 1 ? one.scrollWidth - one.clientWidth : 0;
      const box = one.getBoundingClientRect();
      if (box.width && (box.right > wide + 1 || box.left < -1)) found.push(`is cut by the window: ${name(one)}`);
      if (more <= 1 || style.overflowX === "visible" || one.matches("input, textarea")) continue;
      if (style.overflowX !== "hidden") found.push(`scrolls sideways by ${more} px: ${name(one)}`);
      // Names and terms that are long end in dots; what says what a thing is does not.
      else if (one.matches(":not(.mono):is(button, a, label, [role=heading], [role=tab])")) found.push(`has words cut: ${name(one)}`);
    }
    return found;
  }

  // What can be used can be got at: nothing lies over its middle once it is in sight.
  function covered() {
    const found = [];
    const at = document.scrollingElement.scrollTop;
    const story = document.querySelector(".story");
    const told = story && seen(story) && story.getBoundingClientRect().left < document.documentElement.clientWidth;
    const within = document.querySelector(".palette") || (told ? story : document.body);
    for (const one of within.querySelectorAll(USED)) {
      if (!seen(one) || one.closest(".skip, .cm-editor, [aria-hidden=true]") || one.disabled || one.type === "file") continue;
      one.scrollIntoView({ block: "center", inline: "nearest" });
      const box = one.getBoundingClientRect();
      const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      const there = top && (one.contains(top) || top.contains(one) || top.closest("label")?.contains(one));
      if (!there) found.push(`is covered: ${name(one)} by ${top ? name(top) : "nothing"}`);
    }
    document.scrollingElement.scrollTop = at;
    return found;
  }

  return {
    async whole() {
      await frame();
      return [...new Set([...cut(), ...covered()])].slice(0, 20);
    },
    async hard() {
      const rules = { "target-size": { enabled: true }, "label-content-name-mismatch": { enabled: true } };
      const { violations } = await axe.run(document, { resultTypes: ["violations"], rules });
      return violations
        .filter((one) => HARD.includes(one.impact) || one.id.includes("heading"))
        .flatMap((one) => one.nodes.slice(0, 3).map((node) => {
          const why = node.any[0] || node.all[0] || node.none[0];
          return `${one.id} (${one.nodes.length}): ${node.target.join(" ")} ${node.html.slice(0, 160)} ${why?.message}`;
        }));
    },
    // What has the keyboard, if one cannot see that it has; "" if all is well.
    unseen_focus() {
      const one = document.activeElement;
      if (one === document.body) return "the keyboard left the page";
      const drawn = [one, one.closest(".q-field, .editor"), one.querySelector(".map-sign, rect")].filter(Boolean);
      const marked = drawn.some((part) => {
        const style = getComputedStyle(part);
        const lined = style.outlineStyle !== "none" || style.boxShadow !== "none";
        return lined || part.matches(".q-field--focused, .map-sign, rect");
      });
      return marked ? "" : one.outerHTML.slice(0, 160);
    },
  };
})();
