import { spawnSync } from 'node:child_process';
import { afterAll } from 'vitest';
import { chromium, type Page } from 'playwright-core';

/** Names of the program in Debian, in other distributions and in Google's packages. */
const names = ['chromium', 'chromium-browser', 'google-chrome'];

const program = names
  .map((name) => spawnSync('which', [name], { encoding: 'utf8' }))
  .find(({ status }) => status === 0)
  ?.stdout.trim();

/** Why this machine cannot show a page; undefined if it can. */
export const browserProblem =
  program === undefined ? `there is no program ${names.join(', ')} (package chromium)` : undefined;

/** An empty page of a headless Chromium, which is closed after the tests of the file. */
export async function openPage({ width = 1500, height = 1100 } = {}): Promise<Page> {
  if (program === undefined) throw new Error(browserProblem);
  // Chromium's sandbox refuses to run as root, and /dev/shm of a container holds 64 MB.
  const args = ['--no-sandbox', '--disable-dev-shm-usage'];
  const browser = await chromium.launch({ executablePath: program, args });
  afterAll(() => browser.close());
  return browser.newPage({ viewport: { width, height } });
}
