import { createHash } from 'node:crypto';
import type { PageAssets } from './assets.ts';

/** Nothing is loaded from elsewhere, and only the page's own script and style run. */
export function contentPolicyOf({ script, style }: PageAssets): string {
  return [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/**
 * The page, with the current figures, so that it is complete when it is loaded. Its script then reads `status.json`.
 *
 * @param status JSON of a `Status`.
 */
export function pageOf(status: string, { script, style }: PageAssets): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>ringrun</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<header>
  <h1 id="title">ringrun</h1>
  <p id="job"></p>
  <p id="state" role="status"></p>
</header>
<main>
  <section id="progress" hidden>
    <p><span id="epoch"></span><span id="step"></span></p>
    <div class="track"><div id="done"></div></div>
  </section>
  <section id="tiles"></section>
  <section id="curves" hidden>
    <h2>Curves <label class="switch"><input type="checkbox" id="log-scale">log scale</label></h2>
    <div id="charts">
      <figure id="loss-figure"><figcaption>Loss</figcaption><svg id="loss" role="img"></svg></figure>
      <figure id="rate-figure"><figcaption id="rate-title"></figcaption><svg id="rate" role="img"></svg></figure>
    </div>
    <p id="scalars-note"></p>
  </section>
  <section>
    <h2>Ranks <span class="legend"><i class="input"></i>input <i class="compute"></i>compute <i class="waiting"></i>waiting <i class="rest"></i>other</span></h2>
    <div class="scroll"><table><thead><tr id="columns"></tr></thead><tbody id="ranks"></tbody></table></div>
    <p id="note"></p>
  </section>
  <section id="events-section" hidden><h2>Errors and restarts</h2><ol id="events"></ol></section>
</main>
<noscript>This page needs JavaScript. The figures are at <a href="metrics">metrics</a>.</noscript>
<script type="application/json" id="first">${status.replaceAll('<', '\\u003c')}</script>
<script>${script}</script>
</body>
</html>
`;
}

function hashOf(source: string): string {
  return `sha256-${createHash('sha256').update(source).digest('base64')}`;
}
