import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CommandError } from '../../command-error.ts';

/** The script and the style of the page, as `scripts/bundle-page.js` writes them. */
export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

/** The bundles, from this file's source as well as from its compiled form. */
const built = {
  script: new URL('../../../dist/dashboard/page/client/main.js', import.meta.url),
  style: new URL('../../../dist/dashboard/page/client/page.css', import.meta.url),
};

/** @throws CommandError if the page is not built. The compiler alone does not build it. */
export function readPageAssets({ script, style } = built): PageAssets {
  return { script: readText(script), style: readText(style) };
}

function readText(file: URL): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const path = fileURLToPath(file);
    throw new CommandError(
      1,
      `--dashboard: the page is not built: cannot read ${path}. Run \`node scripts/bundle-page.js\` in the repository of ringrun.`,
      { cause: error },
    );
  }
}
