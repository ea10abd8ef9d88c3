import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';

/** Reads a text from a file or from a URL, which `textLocation` has accepted. A name that ends with .gz is decompressed. */
export async function readText(location: string): Promise<string> {
  if (!/^https?:/.test(location)) {
    const bytes = await readFile(location);
    return (location.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  }
  const response = await fetch(location);
  if (response.ok) return response.text();
  throw new Error(
    `${location}: expected status 200, got ${response.status}. Use --data FILE or --synthetic.`,
  );
}
