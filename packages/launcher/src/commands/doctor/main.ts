import { createRequire } from 'node:module';
import { hostname } from 'node:os';
import { readSecretFile } from '@ringrun/rendezvous';
import { judgeSystem } from './checks/system.ts';
import { exitCodeFor, formatFinding, formatSummary } from './finding.ts';
import type { NamedFinding } from './finding.ts';
import { examineMachine } from './local-checks.ts';
import { examineNetwork } from './network-checks.ts';
import { CommandError } from '../../command-error.ts';
import { parseDoctorOptions } from './options.ts';
import type { DoctorOptions } from './options.ts';

const { version } = createRequire(import.meta.url)('../../../package.json') as { version: string };

/**
 * Runs `ringrun doctor` and resolves with its exit code: 1 if a check reports a problem, otherwise 0.
 *
 * @throws CommanderError for arguments that cannot work.
 */
export async function runDoctor(argv: readonly string[]): Promise<number> {
  const options = parseDoctorOptions(argv, process.env);
  useSecret(options, process.env);
  const findings: NamedFinding[] = [];
  const print = (text: string) => {
    if (!options.json) process.stdout.write(text);
  };
  print(`ringrun ${version} on ${hostname()}, ${process.platform} ${process.arch}\n\n`);
  for await (const finding of examine(options)) {
    findings.push(finding);
    print(formatFinding(finding));
  }
  print(`\n${formatSummary(findings)}`);
  if (options.json) process.stdout.write(`${JSON.stringify(reportOf(findings), null, 2)}\n`);
  return exitCodeFor(findings);
}

/** The probes inherit the variable. */
function useSecret({ secretFile }: DoctorOptions, env: NodeJS.ProcessEnv): void {
  if (secretFile === undefined) return;
  try {
    env['RINGRUN_SECRET'] = readSecretFile(secretFile, '--secret-file');
  } catch (error) {
    throw new CommandError(2, (error as Error).message, { cause: error });
  }
}

async function* examine(options: DoctorOptions): AsyncGenerator<NamedFinding> {
  const system = judgeSystem(process.platform);
  if (system !== undefined) {
    yield { check: 'system', ...system };
    return;
  }
  yield* examineMachine(options);
  yield* examineNetwork(options);
}

/** The output of `--json`. */
function reportOf(findings: readonly NamedFinding[]) {
  return {
    ringrun: version,
    node: process.version,
    host: hostname(),
    platform: `${process.platform}-${process.arch}`,
    ok: exitCodeFor(findings) === 0,
    findings,
  };
}
