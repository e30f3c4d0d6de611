// The field of RedRover as one device shows it: players where they were last seen, ghosts where
// contact was lost, the range of one's own device, and the flag once the own team has found it.
export default {
  template: `
    <svg class="rover-field" :viewBox="'-4 -4 ' + (field.width + 8) + ' ' + (field.height + 8)" role="application"
      tabindex="0" :aria-label="summary" @click="walk" @keydown="step">
      <rect x="0" y="0" :width="field.width" :height="field.height" fill="none" stroke="var(--line)" stroke-width=".6" />
      <line :x1="field.width / 2" y1="0" :x2="field.width / 2" :y2="field.height" stroke="var(--line)" stroke-width=".4" />
      <template v-if="me">
        <circle :cx="me.x" :cy="me.y" :r="field.range_m" class="rover-range" stroke="var(--quiet)"><title>heard within {{ field.range_m }} m</title></circle>
        <circle :cx="me.x" :cy="me.y" :r="field.safe_m" class="rover-range" stroke="var(--law)"><title>engaged within {{ field.safe_m.toFixed(0) }} m</title></circle>
      </template>
      <path v-if="field.steered_to" class="rover-goal" :d="cross(field.steered_to)" />
      <g v-if="field.flag" data-flag :transform="'translate(' + field.flag[0] + ' ' + field.flag[1] + ')'">
        <path class="rover-flag" d="M0 0 V-8 L6 -6 L0 -4" /><title>the rivals' flag, found by {{ field.finder }}</title></g>
      <g v-for="one in field.figures" :key="one.name" class="rover-figure" :class="{ ghost: one.ghost }"
        :data-name="one.name" :data-ghost="one.ghost" :data-team="one.team"
        :style="{ transform: 'translate(' + one.x + 'px,' + one.y + 'px)' }">
        <circle r="1.7" :class="'rover-' + one.team" />
        <circle v-if="one.me" r="2.6" fill="none" stroke="var(--ink)" stroke-width=".5" />
        <text :y="one.y < 8 ? 5.6 : -3.4">{{ one.name }}{{ one.ghost ? ' (ghost)' : '' }}</text>
        <title>{{ words(one) }}</title>
      </g>
    </svg>`,
  props: { field: Object },
  computed: {
    me() { return this.field.figures.find((one) => one.me); },
    summary() {
      const ghosts = this.field.figures.filter((one) => one.ghost).map((one) => one.name);
      return `The field, seen by ${this.field.me}. Ghosts: ${ghosts.join(", ") || "none"}. Click, or use the arrow keys, to walk.`;
    },
  },
  methods: {
    cross([x, y]) { return `M${x - 2} ${y - 2} L${x + 2} ${y + 2} M${x - 2} ${y + 2} L${x + 2} ${y - 2}`; },
    words(one) { return `${one.name} of team ${one.team}${one.me ? " (you)" : ""}${one.ghost ? ": a ghost, out of contact" : ""}${one.face ? ", face known" : ""}`; },
    walk(event) {
      const matrix = this.$el.getScreenCTM().inverse();
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
      this.$emit("walk", [at.x, at.y]);
    },
    step(event) {
      const ways = { ArrowLeft: [-12, 0], ArrowRight: [12, 0], ArrowUp: [0, -12], ArrowDown: [0, 12] };
      const way = ways[event.key];
      if (!way || !this.me) return;
      event.preventDefault();
      this.$emit("walk", [this.me.x + way[0], this.me.y + way[1]]);
    },
  },
};
