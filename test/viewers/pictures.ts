import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** Folder for pictures of the pages, for review. Default: no pictures are kept. */
const folder = process.env['RINGRUN_PICTURES'];

export async function keepPicture(page: Page, name: string): Promise<void> {
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}
