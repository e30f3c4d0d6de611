// The place Now: the map, the live list of rulings and four small lines, told once a beat.
// The host sends what is new (`beat`); what is clicked goes back to it as `pick`.
import NowMap from "/console-static/now/map.js";
import NowRulings from "/console-static/now/rulings.js";
import NowLines from "/console-static/now/lines.js";

export default {
  components: { NowMap, NowRulings, NowLines },
  props: { begun: String }, // what came with the page
  template: `
    <div class="now">
      <div class="now-left">
        <slot></slot>
        <now-lines ref="lines"></now-lines>
        <now-map ref="map" @pick="pick" @group="(by) => $emit('group', by)"></now-map>
      </div>
      <now-rulings ref="rulings" @pick="pick"></now-rulings>
    </div>`,
  mounted() {
    if (this.begun) this.begin(JSON.parse(this.begun));
  },
  methods: {
    begin(told) {
      window.nomospace.time.heard(told.at);
      this.$refs.lines.begin(told.moments);
      if (told.floor) this.$refs.map.draw(told.floor, told.rates);
      this.$refs.rulings.begin(told.rulings);
    },
    beat(told) {
      window.nomospace.time.heard(told.at);
      if (told.floor) this.$refs.map.draw(told.floor, told.rates);
      this.$refs.map.beat(told.rulings, told.rates, told.at);
      this.$refs.rulings.beat(told.rulings, told.folded, told.runs);
      this.$refs.lines.add(told.moment);
    },
    pick(kind, host, id) {
      this.$emit("pick", { kind, host, id: String(id) });
    },
  },
};
