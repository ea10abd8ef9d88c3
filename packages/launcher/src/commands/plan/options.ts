import { Command, InvalidArgumentError, Option } from 'commander';
import { newCommand } from '../../options/new-command.ts';
import { integerIn } from '../../options/values.ts';
import { parseBytes, parseLink, parsePositive } from './units.ts';
import type { LinkText } from './units.ts';

export const hooks = ['none', 'bf16', 'int8', 'int4', 'powersgd'] as const;
export type Hook = (typeof hooks)[number];

export interface PlanOptions {
  /** Undefined: as many as the file of links has hosts. */
  nodes: number | undefined;
  ranksPerNode: number;
  /** Of all parameters, in float32. */
  modelBytes: number;
  /** Between all pairs of nodes. */
  link: LinkText | undefined;
  /** A file of links instead. */
  linksFile: string | undefined;
  /** Forward, backward and optimizer of one step, without communication. */
  stepSeconds: number;
  bucketBytes: number;
  /** Hooks of DDP that are planned. */
  hooks: readonly Hook[];
  /** Steps between two exchanges of parameters. */
  innerSteps: readonly number[];
  fragments: number;
  json: boolean;
}

interface ParsedOptions {
  nodes?: number;
  ranksPerNode: number;
  modelBytes: number;
  link?: LinkText;
  links?: string;
  stepMs: number;
  bucketMb: number;
  hook?: Hook;
  localSteps: readonly number[];
  fragments: number;
  json: boolean;
}

const help = `
Examples:
  ringrun plan --nodes 64 --model-bytes 500M --link 1Gbit/20ms
  ringrun plan --nodes 8 --ranks-per-node 4 --model-bytes 2G --link 10Gbit/0.2ms --step-ms 450
  ringrun plan --links links.json --model-bytes 500M       the links that a job measured: ringrun --links measure
  ringrun plan --nodes 4 --model-bytes 100M --link 100Mbit/40ms --hook int8 --local-steps 50 --fragments 2

--link takes the bandwidth with headers, as vendors print it, and the round-trip time, as ping prints it. Nothing is
measured: the figures are those of the cost model (docs/cost-model.md).`;

/** @throws CommanderError after printing the help (`exitCode` 0) or the mistake (`exitCode` 1). */
export function parsePlanOptions(argv: readonly string[]): PlanOptions {
  const command = planCommand();
  command.parse(argv, { from: 'user' });
  const options = command.opts<ParsedOptions>();
  if ((options.link === undefined) === (options.links === undefined))
    command.error('error: expected one of --link and --links. Add --link 1Gbit/20ms, for example.');
  if (options.link !== undefined && options.nodes === undefined)
    command.error('error: expected --nodes with --link. Add the number of nodes, such as --nodes 8.');
  const longest = Math.min(...options.localSteps);
  if (options.fragments > longest)
    command.error(
      `error: --fragments: expected at most --local-steps, ${longest}, got ${options.fragments}. Lower it.`,
    );
  return {
    nodes: options.nodes,
    ranksPerNode: options.ranksPerNode,
    modelBytes: options.modelBytes,
    link: options.link,
    linksFile: options.links,
    stepSeconds: options.stepMs / 1000,
    bucketBytes: options.bucketMb * 2 ** 20,
    hooks: options.hook === undefined ? hooks : [options.hook],
    innerSteps: options.localSteps,
    fragments: options.fragments,
    json: options.json,
  };
}

const count = (most: number, what: string) => (text: string) =>
  integerIn(text, 1, most, `${what} from 1 to ${most}`);

function planCommand(): Command {
  return newCommand('ringrun plan')
    .description('Predicts the time of a training step on given links, and what limits it.')
    .addOption(new Option('--nodes <n>', 'nodes, with one link each').argParser(count(1024, 'nodes')))
    .addOption(
      new Option('--ranks-per-node <n>', 'ranks that share the link of a node')
        .default(1)
        .argParser(count(1024, 'ranks')),
    )
    .addOption(
      new Option('--model-bytes <bytes>', 'bytes of all parameters in float32, such as 500M')
        .makeOptionMandatory()
        .argParser(parseBytes),
    )
    .addOption(
      new Option('--link <bandwidth/rtt>', 'link of each node, such as 1Gbit/20ms (round trip)').argParser(
        parseLink,
      ),
    )
    .option('--links <file>', 'measured links instead, as RINGRUN_SAVE_LINKS writes them')
    .addOption(
      new Option('--step-ms <ms>', 'computation of one step')
        .default(300)
        .argParser(parsePositive(3_600_000, 'milliseconds')),
    )
    .addOption(
      new Option('--bucket-mb <MiB>', 'bucketCapMb of DistributedDataParallel')
        .default(25)
        .argParser(parsePositive(1e6, 'MiB')),
    )
    .addOption(
      new Option('--hook <name>', 'only this communication hook of DDP (default: all)').choices(hooks),
    )
    .addOption(
      new Option('--local-steps <n,…>', 'innerSteps of LocalSGD and DiLoCo')
        .default([10, 100, 500], '10,100,500')
        .argParser(parseSteps),
    )
    .addOption(
      new Option('--fragments <n>', 'fragments of Streaming DiLoCo')
        .default(4)
        .argParser(count(1000, 'fragments')),
    )
    .option('--json', 'print all figures as one JSON object', false)
    .addHelpText('after', help);
}

function parseSteps(text: string): readonly number[] {
  const steps = text
    .split(',')
    .map((one) => integerIn(one, 1, 1e6, 'steps from 1 to 1000000, such as 100 or 10,100'));
  if (new Set(steps).size === steps.length) return steps;
  throw new InvalidArgumentError('Expected different numbers of steps.');
}
