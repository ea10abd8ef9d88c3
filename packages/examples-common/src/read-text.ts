import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';

/** Reads a text from a file or from a URL, which `textLocation` has accepted. A name that ends with .gz is decompressed. */
export async function readText(location: string): Promise<string> {
  if (!/^https?:/.test(location)) {
    const bytes = await readFile(location);
    return (location.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  }
  const response = await fetch(location);
  const text = response.ok ? await response.text() : '';
  // A proxy may answer with a login page and status 200.
  const isPage = /^\s*<(!doctype\s+html|html)\b/i.test(text);
  if (response.ok && !isPage) return text;
  const got = isPage ? 'a web page, such as the login page of a proxy' : String(response.status);
  throw new Error(
    `${location}: expected ${isPage ? 'a text' : 'status 200'}, got ${got}. Use --data FILE or --synthetic.`,
  );
}
