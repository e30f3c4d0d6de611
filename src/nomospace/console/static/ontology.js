// The classes of an ontology as a tree that folds: synonyms under the name, and dotted lines from a
// property that is computed to the classes that it is computed from.
// A class with several parents stands under the first of them and names the others. Arrow keys go
// through the tree, left and right fold; Enter shows properties. Everything is shown as text.
const OPEN_AT_FIRST = 60;

export default {
  template: `
    <div class="onto" ref="all">
      <svg class="onto-lines" aria-hidden="true" :width="size.width" :height="size.height">
        <g v-for="(line, i) in lines" :key="i">
          <path class="onto-needs" :class="{ far: line.folded }" :d="line.path"/>
          <circle class="onto-tip" :cx="line.x" :cy="line.y" r="2.5"/>
        </g>
      </svg>
      <ul class="onto-tree" role="tree" :aria-label="label" @keydown="key">
        <li v-for="row in rows" :key="row.key" role="treeitem" class="onto-row" :data-class="row.one.name"
            :aria-level="row.depth + 1" :aria-expanded="row.children ? !folded[row.one.name] : null"
            :aria-selected="row.one.name === at" :tabindex="row.one.name === at ? 0 : -1"
            :style="{ paddingLeft: row.depth * 18 + 'px' }" @click="pick(row.one.name)">
          <button v-if="row.children" type="button" class="onto-fold" tabindex="-1"
                  :aria-label="(folded[row.one.name] ? 'Open ' : 'Fold ') + row.one.name"
                  @click.stop="fold(row.one.name)">{{ folded[row.one.name] ? '▸' : '▾' }}</button>
          <span v-else class="onto-leaf" aria-hidden="true">·</span>
          <span class="onto-said">
            <span class="onto-head">
              <span class="onto-name" :ref="el => named(row.one.name, el)">{{ row.one.name }}</span>
              <span v-if="folded[row.one.name]" class="quiet">{{ row.below }} below</span>
              <span v-if="row.others.length" class="quiet">also under {{ row.others.join(", ") }}</span>
              <span v-if="row.elsewhere.length" class="quiet">also above {{ row.elsewhere.join(", ") }}</span>
            </span>
            <span v-if="row.one.synonyms.length" class="onto-also">{{ row.one.synonyms.join(", ") }}</span>
            <span v-if="row.one.name === at && row.one.properties.length" class="onto-has">
              <span v-for="[name, kind] in row.one.properties" :key="name" class="chip mono">{{ name }}: {{ kind }}</span>
            </span>
          </span>
          <span class="onto-ops">
            <span v-for="(made, i) in row.one.depends" :key="i" class="onto-op mono" :title="told(made)"
                  :ref="el => computed_by(row.one.name, i, el)">{{ made.property }} = {{ made.function }}</span>
          </span>
        </li>
      </ul>
    </div>`,
  props: { classes: Array, label: String },
  data() { return { folded: {}, at: "", lines: [], size: { width: 0, height: 0 } }; },
  created() { this.names = {}; this.ops = {}; this.begin(); },
  watch: { classes() { this.begin(); this.$nextTick(this.draw); } },
  mounted() {
    this.watching = new ResizeObserver(() => this.draw());
    this.watching.observe(this.$refs.all);
    this.draw();
  },
  updated() { this.draw(); },
  beforeUnmount() { this.watching.disconnect(); },
  computed: {
    known() { return new Map(this.classes.map((one) => [one.name, one])); },
    under() {
      const under = new Map();
      for (const one of this.classes) {
        const first = one.parents.find((name) => this.known.has(name)) ?? "";
        if (!under.has(first)) under.set(first, []);
        under.get(first).push(one);
      }
      // What has something below it stands first; else they keep the order of their names.
      for (const listed of under.values())
        listed.sort((a, b) => under.has(b.name) - under.has(a.name));
      return under;
    },
    elsewhere() {
      const found = {};
      for (const one of this.classes)
        for (const up of one.parents.filter((name) => this.known.has(name)).slice(1)) (found[up] ||= []).push(one.name);
      return found;
    },
    below() {
      const counts = {};
      const count = (name) => {
        counts[name] = 0;
        for (const one of this.under.get(name) || []) counts[name] += 1 + count(one.name);
        return counts[name];
      };
      count("");
      return counts;
    },
    rows() {
      const rows = [];
      const walk = (name, depth) => {
        for (const one of this.under.get(name) || []) {
          const children = (this.under.get(one.name) || []).length;
          const others = one.parents.filter((up) => this.known.has(up) && up !== name);
          rows.push({ key: one.name, one, depth, children, others, below: this.below[one.name],
                      elsewhere: this.elsewhere[one.name] || [] });
          if (children && !this.folded[one.name]) walk(one.name, depth + 1);
        }
      };
      walk("", 0);
      return rows;
    },
  },
  methods: {
    begin() {
      this.folded = {};
      if (this.classes.length > OPEN_AT_FIRST)
        for (const one of this.classes) if ((this.under.get(one.name) || []).length) this.folded[one.name] = true;
      this.at = this.rows.length ? this.rows[0].one.name : "";
    },
    named(name, el) { if (el) this.names[name] = el; else delete this.names[name]; },
    computed_by(name, i, el) { const key = `${name} ${i}`; if (el) this.ops[key] = el; else delete this.ops[key]; },
    told(made) { return [`${made.property} = ${made.function}`, ...made.when.map((tie) => `when ${tie}`)].join("\n"); },
    pick(name) { this.at = name; },
    fold(name) {
      this.folded = { ...this.folded, [name]: !this.folded[name] };
      if (!this.rows.some((row) => row.one.name === this.at)) this.at = name;
    },
    // Where a class is seen: itself, or the nearest of those above it that is not folded away.
    seen(name) {
      for (let one = this.known.get(name); one; one = this.known.get(one.parents.find((up) => this.known.has(up))))
        if (this.names[one.name]) return one.name;
      return null;
    },
    draw() {
      const all = this.$refs.all?.getBoundingClientRect();
      if (!all) return;
      const lines = [];
      for (const { one } of this.rows)
        one.depends.forEach((made, i) => {
          const op = this.ops[`${one.name} ${i}`]?.getBoundingClientRect();
          if (!op) return;
          for (const need of made.inputs) {
            const name = this.seen(need);
            if (!name || name === one.name) continue;
            const to = this.names[name].getBoundingClientRect();
            const x = to.right - all.left + 7, y = (to.top + to.bottom) / 2 - all.top;
            const sx = op.left - all.left, sy = (op.top + op.bottom) / 2 - all.top;
            const bend = Math.max(30, Math.abs(sx - x) / 2);
            lines.push({ x, y, folded: name !== need,
                         path: `M${sx} ${sy}C${sx - bend} ${sy} ${x + bend} ${y} ${x} ${y}` });
          }
        });
      const size = { width: Math.round(all.width), height: Math.round(all.height) };
      const same = JSON.stringify([lines, size]);
      if (same !== this.drawn) { this.drawn = same; this.lines = lines; this.size = size; }
    },
    key(event) {
      const here = this.rows.findIndex((row) => row.one.name === this.at);
      const row = this.rows[here];
      if (!row) return;
      const go = (index) => {
        const next = this.rows[Math.max(0, Math.min(index, this.rows.length - 1))];
        this.at = next.one.name;
        this.$nextTick(() => this.$refs.all.querySelector('[tabindex="0"]')?.focus());
      };
      const parent = row.one.parents.find((up) => this.known.has(up));
      const keys = {
        ArrowDown: () => go(here + 1), ArrowUp: () => go(here - 1), Home: () => go(0),
        End: () => go(this.rows.length - 1),
        ArrowRight: () => { if (row.children && this.folded[this.at]) this.fold(this.at); else if (row.children) go(here + 1); },
        ArrowLeft: () => {
          if (row.children && !this.folded[this.at]) this.fold(this.at);
          else if (parent) go(this.rows.findIndex((one) => one.one.name === parent));
        },
      };
      if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
    },
  },
};
