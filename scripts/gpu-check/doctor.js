// The doctor's checks of this machine, as `ringrun doctor --backend nccl` prints them.
import { exitCodeFor, formatFinding } from '../../packages/launcher/src/commands/doctor/finding.ts';
import { examineMachine } from '../../packages/launcher/src/commands/doctor/local-checks.ts';

const findings = [];
for await (const finding of examineMachine({ timeoutMs: 60_000, backend: 'nccl' })) {
  findings.push(finding);
  process.stdout.write(formatFinding(finding));
}
process.exitCode = exitCodeFor(findings);
