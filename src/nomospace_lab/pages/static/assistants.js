// Sites in a ring, assistants where they are, and the way that the last message took.
export default {
  template: `
    <svg class="sites" viewBox="0 0 640 340" role="img" :aria-label="summary">
      <path v-for="(leg, i) in legs" :key="'leg' + stamp + i" :d="leg" class="sites-way" />
      <g v-for="site in placed" :key="site.name" :data-site="site.name">
        <rect :x="site.x - 74" :y="site.y - 40" width="148" height="80" rx="10" class="sites-room" :class="{ experts: site.name === facts.experts }" />
        <text :x="site.x" :y="site.y - 22" class="sites-title">{{ site.title }}</text>
      </g>
      <g v-for="one in dots" :key="one.person" class="sites-dot" :data-person="one.person" :data-at="one.at"
        :style="{ transform: 'translate(' + one.x + 'px,' + one.y + 'px)' }">
        <circle r="13" :style="{ fill: 'var(--player-' + one.colour + ')' }" />
        <text y="4" class="sites-letter">{{ one.person[0].toUpperCase() }}</text>
        <text y="27" class="sites-name">{{ one.person }}</text>
        <title>{{ words(one) }}</title>
      </g>
    </svg>`,
  props: { facts: Object, way: Object },
  data() { return { stamp: 0 }; },
  watch: { way() { this.stamp++; } },
  computed: {
    placed() {
      const names = Object.keys(this.facts.sites);
      return names.map((name, i) => {
        const angle = (2 * Math.PI * i) / names.length - Math.PI / 2;
        return { name, title: this.facts.sites[name], x: 320 + 225 * Math.cos(angle), y: 178 + 118 * Math.sin(angle) };
      });
    },
    dots() {
      return this.facts.assistants.map((one, i) => {
        const site = this.placed.find((place) => place.name === (one.at || one.home));
        return { ...one, colour: i, x: site.x + (i - 1) * 42, y: site.y + 4 };
      });
    },
    legs() {
      const path = (this.way && this.way.path) || [];
      const at = (name) => this.placed.find((place) => place.name === name);
      return path.slice(1).map((name, i) => {
        const from = at(path[i]), to = at(name);
        return `M${from.x} ${from.y} Q320 178 ${to.x} ${to.y}`;
      });
    },
    summary() {
      return this.facts.assistants.map((one) => this.words(one)).join("; ");
    },
  },
  methods: {
    words(one) {
      const where = one.at ? this.facts.sites[one.at] : "on its way";
      return `${one.person}'s assistant: ${where}${one.task ? `, with “${one.task}”` : ""}, ${one.notes} letters read`;
    },
  },
};
