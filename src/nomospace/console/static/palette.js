// The command box: `/` or Ctrl-K opens it, the arrows choose, Enter goes there, Esc closes it.
// Esc with no box open closes the story. What is found comes from the host, by way of `answer`.
const DEBOUNCE_MS = 120;

export default {
  template: `
    <div class="palette-ground" v-if="open" @mousedown.self="shut">
      <div class="palette" role="dialog" aria-modal="true" aria-label="Find and go">
        <input ref="box" v-model="text" class="palette-input mono" type="text" autocomplete="off"
          spellcheck="false" role="combobox" aria-expanded="true" aria-controls="palette-list"
          :aria-activedescendant="found.length ? 'palette-' + at : undefined"
          aria-label="Find anything by its name; or do something"
          placeholder="ann@ward-1 · R3 · make a space · (alarm, _)"
          @input="ask" @keydown.down.prevent="step(1)" @keydown.up.prevent="step(-1)"
          @keydown.enter.prevent="choose(at)" @keydown.tab.prevent>
        <ul id="palette-list" class="palette-list" role="listbox" aria-label="Found" :aria-busy="waiting">
          <li v-for="(one, index) in found" :key="index" :id="'palette-' + index" role="option"
            :aria-selected="index === at" :class="{ at: index === at }"
            @mousemove="at = index" @click="choose(index)">
            <span class="palette-kind">{{ one.kind }}</span>
            <span class="mono palette-what">{{ one.what }}</span>
            <span class="quiet palette-where">{{ one.where }}</span>
          </li>
        </ul>
        <p v-if="!found.length" class="palette-none quiet">{{ waiting ? "Looking…" : said }}</p>
        <p class="palette-keys quiet" aria-hidden="true">↑ ↓ choose · Enter go · Esc close</p>
      </div>
    </div>`,
  data() {
    return { open: false, text: "", found: [], at: 0, waiting: false, said: "", number: 0 };
  },
  mounted() {
    window.nomospace.palette = true;
    this.keys = (event) => this.key(event);
    document.addEventListener("keydown", this.keys);
  },
  unmounted() {
    document.removeEventListener("keydown", this.keys);
    clearTimeout(this.timer);
  },
  methods: {
    key(event) {
      const box = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
      const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (box || (slash && !window.nomospace.typing(event.target))) {
        event.preventDefault();
        this.show();
      } else if (event.key === "Escape") {
        if (this.open) {
          event.preventDefault();
          this.shut();
        } else if (!document.querySelector(".q-dialog, .q-menu")) {
          this.$emit("escape");
        }
      }
    },
    show() {
      if (this.open) return;
      this.from = document.activeElement;
      this.open = true;
      this.$nextTick(() => {
        this.$refs.box.focus();
        this.$refs.box.select();
      });
      this.ask();
    },
    shut() {
      this.open = false;
      if (this.from?.isConnected) this.from.focus({ preventScroll: true });
    },
    ask() {
      clearTimeout(this.timer);
      this.waiting = true;
      this.timer = setTimeout(() => {
        this.number += 1;
        this.$emit("ask", { number: this.number, text: this.text });
      }, DEBOUNCE_MS);
    },
    answer(number, found, said) {
      if (number !== this.number) return; // the answer to what was typed before
      this.found = found;
      this.said = said;
      this.at = 0;
      this.waiting = false;
    },
    step(by) {
      if (!this.found.length) return;
      this.at = (this.at + by + this.found.length) % this.found.length;
      this.$nextTick(() => document.getElementById("palette-" + this.at)?.scrollIntoView({ block: "nearest" }));
    },
    choose(index) {
      const one = this.found[index];
      if (!one || this.waiting) return;
      this.shut();
      this.$emit("choose", { number: this.number, index });
    },
  },
};
