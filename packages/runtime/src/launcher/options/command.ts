import { createRequire } from 'node:module';
import { Command, Option } from 'commander';
import { parseRendezvousConfig } from './rendezvous-config.ts';
import * as values from './values.ts';

const { version } = createRequire(import.meta.url)('../../../package.json') as { version: string };

const examples = `
Examples:
  ringrun --nproc 2 train.ts --epochs 5       two processes on this machine
  ringrun train.js                            in a pod of a PyTorchJob or TrainJob
  ringrun --nnodes 2 --node-rank 0 --master-addr host0 train.js       on host0,
  ringrun --nnodes 2 --node-rank 1 --master-addr host0 train.js       on the other
  ringrun --nnodes 1:3 --rdzv-backend c10d --rdzv-endpoint host0 --max-restarts 9 train.js
  ringrun --no-node --nproc 2 python3 train.py
  ringrun doctor --help                       what keeps training from working, and how to mend it
  ringrun build-native                        compile the native addon, where no prebuilt one fits

Options after the script belong to the script. Underscores work as dashes. Each option is also read from
PET_<NAME> (PET_NNODES); what the command line says wins. Workers see what torchrun's see: RANK, WORLD_SIZE, ….
The exit code is that of the process that failed first, or 128 + the number of the signal.`;

type Parse = (text: string) => unknown;

/** Options by group: flags, what the help says, and how a value is read; an option without a value is a switch. */
const groups: Readonly<Record<string, readonly (readonly [flags: string, help: string, parse?: Parse])[]>> = {
  'What runs:': [
    ['--nproc-per-node <n>', 'processes on this node: 1, auto, cpu, gpu', values.parseProcessCount],
    // An option of its own, not a second flag: commander suggests only an option's long flag for a misspelt one.
    ['--nproc <n>', 'short form of --nproc-per-node', values.parseProcessCount],
    ['-m, --module', "run a package's entry instead of a script"],
    ['--no-node', 'run any program instead of a script'],
    ['--no-python', "torchrun's name of --no-node"],
    ['--role <name>', 'ROLE_NAME of the processes: default', values.parseText],
    ['--numa-binding <how>', 'node, socket, exclusive, core-complex', values.parseNumaBinding],
  ],
  'Nodes:': [
    ['--nnodes <n>', 'number of nodes, or MIN:MAX: 1', values.parseNodes],
    ['--node-rank <rank>', 'of this node: 0', values.parseRank],
    ['--master-addr <host>', 'host of node 0: 127.0.0.1', values.parseHost],
    ['--master-port <port>', 'on that host: 29500; for one node, a free one', values.parsePort],
    ['--local-addr <host>', 'of this node: the one routed to the master', values.parseHost],
    ['--rdzv-backend <name>', 'static, or c10d: nodes may come and go', values.parseBackend],
    ['--rdzv-endpoint <host:port>', 'where nodes meet: the master', values.parseHostPort],
    ['--rdzv-id <id>', "the job's name, the same on all nodes", values.parseText],
    ['--rdzv-conf <k=v,…>', 'join_timeout=600,last_call_timeout=30, …', parseRendezvousConfig],
    ['--standalone', 'a job of this node alone'],
  ],
  'Failures:': [
    ['--max-restarts <n>', 'of the whole job: 0', values.parseRestarts],
    ['--monitor-interval <seconds>', 'between looks at other nodes: 0.1', values.parseInterval],
    ['--signals-to-handle <names>', 'beside SIGTERM, SIGINT, SIGHUP, SIGQUIT', values.parseSignals],
    ['--grace-period <seconds>', 'from such a signal to SIGKILL: 30', values.parseGracePeriod],
  ],
  'Output: 0 none, 1 stdout, 2 stderr, 3 both, or by local rank: 0:1,1:2': [
    ['-r, --redirects <streams>', 'to files', values.parseStreams],
    ['-t, --tee <streams>', 'to files and to the console', values.parseStreams],
    ['--log-dir <folder>', 'for these files', values.parseText],
    ['--local-ranks-filter <ranks>', 'shown on the console: all', values.parseRanks],
  ],
};

/** torchrun's options that are about Python, or about torchrun's own parts. */
const refused: Readonly<Record<string, string>> = {
  '--start-method': 'each process is started anew, as by spawn',
  '--run-path': 'a script is given by its path, without an option',
  '--use-env': 'ranks are in the environment only',
  '--event-log-handler': 'what happened is on stderr',
  '--logs-specs': '--log-dir, --redirects and --tee say where output goes',
  '--virtual-local-rank': 'set CUDA_VISIBLE_DEVICES in the script by LOCAL_RANK',
  '--duplicate-stdout-filters': '--local-ranks-filter says whose output is shown',
  '--duplicate-stderr-filters': '--local-ranks-filter says whose output is shown',
};

/** The command `ringrun` with all its options, none of which has a default value: what is not given is not there. */
export function launchCommand(): Command {
  const command = new Command('ringrun')
    .description('Runs a training script in several processes that train together, on one node or several.')
    .usage('[options] <script> [arguments of the script]')
    .argument('<script>')
    .argument('[arguments...]')
    .passThroughOptions()
    .configureOutput({
      outputError: (text, write) => {
        write(text.replace(/^error:/, 'ringrun:'));
      },
    })
    .configureHelp({ visibleArguments: () => [] })
    .showHelpAfterError('See ringrun --help.')
    .exitOverride();
  for (const [heading, options] of Object.entries(groups)) {
    for (const [flags, help, parse] of options) {
      const option = new Option(flags, help).helpGroup(heading);
      if (parse) option.argParser(parse);
      command.addOption(option);
    }
  }
  return command.version(version).addHelpText('after', examples);
}

/** @throws CommanderError after it said why, for one of torchrun's options that has no meaning here. */
export function refuseForeign(command: Command, option: string): void {
  if (!Object.hasOwn(refused, option)) return;
  command.error(
    `error: ${option} is an option of torchrun that has no meaning for Node: ${refused[option]}. Leave it out.`,
  );
}
