/** The style of the page. It follows the light or dark scheme of the browser. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --back: #f6f7f9; --card: #fff; --line: #dfe3e8; --text: #1b2430; --faint: #5d6b7a;
  --accent: #2563b8; --input: #c77700; --compute: #2563b8; --waiting: #b83280; --rest: #cfd6de;
  --good: #18794e; --bad: #c0262d;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #12161c; --card: #1a2029; --line: #303946; --text: #e4e9f0; --faint: #97a4b3;
    --accent: #74a9f0; --input: #e3a33c; --compute: #5b94e0; --waiting: #e07ab5; --rest: #3c4755;
    --good: #5cc492; --bad: #f2777c;
  }
}
* { box-sizing: border-box; margin: 0; }
body { background: var(--back); color: var(--text); font: 15px/1.45 system-ui, "Liberation Sans", sans-serif; }
header, main { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1rem; padding-top: 1.25rem; }
h1 { font-size: 1.35rem; } h2 { font-size: 1rem; margin-bottom: .5rem; }
#job { color: var(--faint); flex: 1; overflow-wrap: anywhere; }
#state { font-weight: 600; color: var(--good); } #state.bad { color: var(--bad); } #state.over { color: var(--faint); }
main { display: grid; gap: 1rem; padding-top: 1rem; padding-bottom: 2rem; }
section > h2, #progress, figure, .scroll, #events { min-width: 0; }
#progress p { display: flex; justify-content: space-between; color: var(--faint); margin-bottom: .25rem; }
.track { height: .5rem; border-radius: .25rem; background: var(--rest); overflow: hidden; }
#done { height: 100%; width: 0; background: var(--accent); }
#tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: 1rem; }
.tile, figure, .scroll, #events { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
.tile { padding: .75rem 1rem; }
.tile b { display: block; font-size: 1.6rem; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.tile span, figcaption { color: var(--faint); font-size: .85rem; }
#charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; }
#charts[hidden] { display: none; }
figure { padding: .75rem 1rem; } svg { display: block; width: 100%; height: 12rem; }
svg text { fill: var(--faint); font-size: 12px; } svg .axis { stroke: var(--line); }
svg .curve { fill: none; stroke: var(--accent); stroke-width: 1.75; stroke-linejoin: round; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .75rem; text-align: right; white-space: nowrap; border-top: 1px solid var(--line); }
th { color: var(--faint); font-weight: 500; font-size: .85rem; border-top: 0; }
th.text, td.text { text-align: left; }
tr.slowest td { background: color-mix(in srgb, var(--input) 14%, transparent); } td.bad { color: var(--bad); font-weight: 600; }
td.shares { width: 34%; min-width: 9rem; }
.bar { display: flex; height: .8rem; border-radius: .2rem; overflow: hidden; background: var(--rest); }
.input { background: var(--input); } .compute { background: var(--compute); } .waiting { background: var(--waiting); } .rest { background: var(--rest); }
.legend { font-weight: 400; font-size: .85rem; color: var(--faint); margin-left: .5rem; }
.legend i { display: inline-block; width: .7rem; height: .7rem; border-radius: .15rem; margin: 0 .15rem 0 .5rem; }
#note { color: var(--faint); margin-top: .5rem; }
#events { list-style: none; padding: .25rem 1rem; } #events li { padding: .35rem 0; overflow-wrap: anywhere; white-space: pre-wrap; }
#events time { color: var(--faint); margin-right: .75rem; }
`;
