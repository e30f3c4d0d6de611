// Answers of a match: each with its tuples as boxes, and a line between them where they hold the
// same object (or where a tie of a computed property joins them). Everything is shown as text.
export default {
  template: `
    <div class="answers" ref="all">
      <article v-for="(one, i) in answers" :key="i" class="answer card" :data-kind="one.kind">
        <header class="answer-head">
          <span class="answer-kind" :class="'kind-' + one.kind">{{ signs[one.kind] }} {{ one.kind }}</span>
          <span class="answer-why">{{ one.because.length > 1 ? one.tuples.map(([id]) => id).join(" + ") : one.why }}</span>
        </header>
        <div class="answer-drawn" :ref="el => drawn[i] = el">
          <svg class="answer-lines" aria-hidden="true" :width="sizes[i]?.width" :height="sizes[i]?.height">
            <g v-for="(line, j) in lines[i] || []" :key="j">
              <path :class="'join-' + line.kind" :d="line.path"/>
            </g>
          </svg>
          <div class="answer-tuples">
            <div v-for="[id, fields] in one.tuples" :key="id" class="answer-tuple">
              <div class="answer-id mono">{{ id }}</div>
              <div v-for="(field, at) in fields" :key="at" class="answer-field mono"
                   :class="{ serves: serves(one, id, at), joined: joined(one, id, at) }"
                   :ref="el => spot(i, id, at, el)">
                <span>{{ field.label }}</span><span v-if="field.more" class="answer-more">{{ field.more }}</span>
              </div>
            </div>
            <div v-for="(field, at) in made(one)" :key="'made' + at" class="answer-tuple answer-made">
              <div class="answer-id">computed</div>
              <div class="answer-field mono serves"><span>{{ field.label }}</span>
                <span class="answer-more">{{ field.more }}</span></div>
            </div>
          </div>
        </div>
        <ul v-if="one.because.length > 1" class="answer-because">
          <li v-for="words in one.because" :key="words">{{ words }}</li>
        </ul>
      </article>
    </div>`,
  props: { answers: Array },
  data() {
    return { lines: [], sizes: [], signs: { exact: "=", semantic: "≈", correlation: "⋈" } };
  },
  created() { this.drawn = []; this.spots = {}; },
  mounted() {
    this.watching = new ResizeObserver(() => this.draw());
    this.watching.observe(this.$refs.all);
    this.$nextTick(this.draw);
  },
  updated() { this.draw(); },
  beforeUnmount() { this.watching.disconnect(); },
  methods: {
    spot(i, id, at, el) { const key = `${i} ${id} ${at}`; if (el) this.spots[key] = el; else delete this.spots[key]; },
    serves(one, id, at) { return one.served_by.some((by) => by && by[0] === id && by[1] === at); },
    joined(one, id, at) { return one.joins.some((join) => join.spots.some((by) => by[0] === id && by[1] === at)); },
    made(one) { return one.serves.filter((field, at) => !one.served_by[at]); },
    draw() {
      const lines = [], sizes = [];
      this.answers.forEach((one, i) => {
        const all = this.drawn[i]?.getBoundingClientRect();
        lines[i] = [];
        if (!all) return;
        sizes[i] = { width: Math.round(all.width), height: Math.round(all.height) };
        for (const join of one.joins)
          for (let j = 1; j < join.spots.length; j++) {
            const a = this.spots[`${i} ${join.spots[j - 1].join(" ")}`]?.getBoundingClientRect();
            const b = this.spots[`${i} ${join.spots[j].join(" ")}`]?.getBoundingClientRect();
            if (!a || !b) continue;
            const [from, to] = a.left <= b.left ? [a, b] : [b, a];
            const beside = from.right < to.left;
            const x1 = (beside ? from.right : from.right - 8) - all.left, y1 = (from.top + from.bottom) / 2 - all.top;
            const x2 = (beside ? to.left : to.right - 8) - all.left, y2 = (to.top + to.bottom) / 2 - all.top;
            const bend = beside ? Math.max(16, (x2 - x1) / 2) : 40;
            const end = beside ? x2 - bend : x2 + bend;
            lines[i].push({ kind: join.kind, path: `M${x1} ${y1}C${x1 + bend} ${y1} ${end} ${y2} ${x2} ${y2}` });
          }
      });
      const same = JSON.stringify([lines, sizes]);
      if (same !== this.last) { this.last = same; this.lines = lines; this.sizes = sizes; }
    },
  },
};
