// The part of vitest that the bundled tests of kernels use, over node:test and vitest's own matchers. Each test appends a line
// to the file in RINGRUN_CHECK_TESTS when it ends.
import { appendFileSync } from 'node:fs';
import nodeTest, { after, afterEach, before, beforeEach, describe as nodeDescribe } from 'node:test';
import { format } from 'node:util';
import { JestAsymmetricMatchers, JestChaiExpect, JestExtend, chai, setState } from '@vitest/expect';

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

export const expect = (value, message) => chai.expect(value, message);
Object.assign(expect, chai.expect);
Object.assign(expect, globalThis[Symbol.for('asymmetric-matchers-object')]);
setState({ assertionCalls: 0, isExpectingAssertions: false }, expect);
globalThis[Symbol.for('expect-global')] ??= expect;

const limitMs = 60_000;
const cleanups = [];
/** Values of variables before they were stubbed. */
const stubbed = new Map();

function setEnv(name, value) {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

export function onTestFinished(cleanup) {
  cleanups.push(cleanup);
}

async function recorded(title, body) {
  const startedAt = performance.now();
  let error;
  try {
    await body();
  } catch (thrown) {
    error = thrown;
  }
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  const line = { test: title, ok: error === undefined, ms: Math.round(performance.now() - startedAt) };
  if (error !== undefined) line.error = String(error?.message ?? error).slice(0, 500);
  const file = process.env.RINGRUN_CHECK_TESTS;
  if (file) appendFileSync(file, `${JSON.stringify(line)}\n`);
  if (error !== undefined) throw error;
}

/** `%s` and such, as in util.format, and `$name` of an object. */
function titleOf(title, row) {
  const [first] = row;
  const named = title.replaceAll(/\$(\w+)/g, (text, key) => format('%s', first?.[key] ?? text));
  const count = (named.match(/%[sdifjoO]/g) ?? []).length;
  return format(named, ...row.slice(0, count));
}

const eachOf = (define) => (rows) => (title, body, options) => {
  for (const row of rows) {
    const values = Array.isArray(row) ? row : [row];
    define(titleOf(title, values), () => body(...values), options);
  }
};

export function test(title, ...rest) {
  const body = rest.find((part) => typeof part === 'function');
  const path = [...suites, title].join(' > ');
  nodeTest(title, { timeout: limitMs }, () => recorded(path, body));
}
const skip = (title) => nodeTest.skip(title);
test.each = eachOf(test);
test.skip = skip;
test.runIf = (isChosen) => (isChosen ? test : Object.assign(skip.bind(undefined), { each: eachOf(skip) }));
test.skipIf = (isSkipped) => test.runIf(!isSkipped);
export const it = test;

/** Titles of the suites whose bodies run. */
const suites = [];

export function describe(title, ...rest) {
  const body = rest.find((part) => typeof part === 'function');
  nodeDescribe(title, () => {
    suites.push(title);
    body();
    suites.pop();
  });
}
describe.each = eachOf(describe);
const skipSuite = (title) => nodeDescribe.skip(title);
describe.runIf = (isChosen) =>
  isChosen ? describe : Object.assign(skipSuite.bind(undefined), { each: eachOf(skipSuite) });
describe.skipIf = (isSkipped) => describe.runIf(!isSkipped);

export { after as afterAll, afterEach, before as beforeAll, beforeEach };

export const vi = {
  stubEnv(name, value) {
    const before = process.env[name];
    if (!stubbed.has(name)) stubbed.set(name, before);
    setEnv(name, value);
    cleanups.push(() => {
      setEnv(name, before);
    });
  },
  unstubAllEnvs() {
    for (const [name, before] of stubbed) setEnv(name, before);
    stubbed.clear();
  },
  spyOn(object, name) {
    const original = object[name];
    let implementation = original;
    const calls = [];
    object[name] = function (...args) {
      calls.push(args);
      return implementation.apply(this, args);
    };
    return {
      mock: { calls },
      mockImplementation(other) {
        implementation = other;
        return this;
      },
      mockReturnValue(value) {
        return this.mockImplementation(() => value);
      },
      mockClear() {
        calls.length = 0;
        return this;
      },
      mockRestore() {
        object[name] = original;
      },
    };
  },
};
