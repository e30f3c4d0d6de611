// A box one types terms into. What is typed is told a moment after the last key, and at once when
// the box is left or Enter is pressed. A slip is drawn under the very characters it is about.
// The window keeps what was typed into a box that has a name, for when its host is started anew.
// Everything is shown as text.
const MOMENT_MS = 180;

export default {
  template: `
    <div class="typed">
      <label class="typed-label" :for="dom">{{ label }}</label>
      <textarea v-if="lines > 1" :id="dom" class="typed-box" :rows="lines" v-model="text" :placeholder="placeholder"
        :aria-invalid="said ? 'true' : 'false'" :aria-describedby="dom + 's'" spellcheck="false" @input="later" @change="at_once"></textarea>
      <input v-else :id="dom" class="typed-box" type="text" v-model="text" :placeholder="placeholder" ref="box" :list="choices.length ? dom + 'c' : null"
        :aria-invalid="said ? 'true' : 'false'" :aria-describedby="dom + 's'" spellcheck="false" autocomplete="off"
        @input="later" @change="at_once" @keydown.enter="enter" @scroll="shifted" />
      <datalist v-if="choices.length" :id="dom + 'c'"><option v-for="one in choices" :key="one" :value="one"></option></datalist>
      <div v-if="said && end > start && lines === 1" class="typed-caret" aria-hidden="true"><span :style="{ display: 'inline-block', transform: 'translateX(' + -shift + 'px)' }">{{ caret }}</span></div>
      <div :id="dom + 's'" role="status" class="typed-words"><div v-if="said" class="typed-said pre">✕ {{ said }}</div><div v-if="help" class="typed-help">{{ help }}</div></div>
    </div>`,
  props: { label: String, placeholder: String, value0: String, lines: { type: Number, default: 1 },
           choices: { type: Array, default: () => [] }, keep: String, first: String },
  emits: ["typed", "enter"],
  data() { return { text: this.value0 || "", start: 0, end: 0, said: "", help: "", shift: 0, told: this.value0 || "" }; },
  computed: {
    dom() { return `typed-${this.$.uid}`; },
    place() { return `nomospace.typed.${this.keep}`; },
    caret() { return " ".repeat(this.start) + "^".repeat(this.end - this.start); },
  },
  mounted() {
    // What the host knows of this window goes first: it is at least as new.
    const was = this.keep && this.text === this.first ? sessionStorage.getItem(this.place) : null;
    if (was !== null) { this.text = was; this.at_once(); }
    window.addEventListener("pagehide", this.last);
  },
  beforeUnmount() { clearTimeout(this.waiting); window.removeEventListener("pagehide", this.last); },
  methods: {
    later() { clearTimeout(this.waiting); this.waiting = setTimeout(() => this.at_once(), MOMENT_MS); },
    at_once() {
      clearTimeout(this.waiting);
      if (this.text === this.told) return;
      this.told = this.text;
      this.store();
      this.$emit("typed", this.text);
    },
    // What was typed in the last moment; after a logout nothing is kept.
    last() { if (this.text !== this.told && !nomospace.host.over) this.store(); },
    store() {
      // A window that has no room left does without.
      try { if (this.keep) sessionStorage.setItem(this.place, this.text); } catch { /* full */ }
    },
    enter() { this.at_once(); this.$emit("enter"); },
    shifted() { this.shift = this.$refs.box.scrollLeft; },
    slip(about, start, end, said, help) {
      if (about !== this.told) return; // it was about an earlier text
      this.start = start; this.end = Math.min(end, this.text.length + 1); this.said = said; this.help = help;
    },
    put(text) { this.text = this.told = text; this.said = this.help = ""; this.store(); },
  },
};
