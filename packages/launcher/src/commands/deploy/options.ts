import { basename } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { newCommand } from '../../options/new-command.ts';
import type { ProcessesPerNode } from '../../options/launch-options.ts';
import { parseProcessCount } from '../../options/values.ts';
import type { Deployment } from './deployment.ts';
import { mistakeIn } from './mistakes.ts';
import * as values from './values.ts';
import type { Toleration } from './values.ts';

/** The taints of GPU nodes: Azure's and NVIDIA's customary ones. A taint that no node has changes nothing. */
const gpuTaints: readonly Toleration[] = [
  { key: 'sku', value: 'gpu', effect: 'NoSchedule' },
  { key: 'nvidia.com/gpu', value: undefined, effect: 'NoSchedule' },
];

const help = `
Examples:
  ringrun deploy --image registry.example/train:1 --nodes 3 train.ts --epochs 5
  ringrun deploy --kind TrainJob --image registry.example/train:1 --nodes 2 --cpu 8 --memory 16Gi train.ts
  ringrun deploy --image registry.example/train:1 --nodes 2 --gpus 2 --node-selector agentpool=gpu train.ts
  ringrun deploy --image registry.example/train:1 --nodes 1:3 --volume data --volume-size 10Gi train.ts
  ringrun deploy --image registry.example/train:1 --service-account trainer train.ts --output s3://bucket/run

Writes a Dockerfile for the current folder, if it has none, and the manifests of a job, of a pod for debugging and of two
doctors, and prints the commands that build, push and apply them. Runs none of them.
The image gets code and settings of the folder. Data, checkpoints, logs and all other files stay out unless --include
names them; keys, tokens and .env files stay out in any case. The lines are in .dockerignore.
Arguments after the script are passed to the script.`;

interface Parsed extends Omit<
  Deployment,
  'name' | 'processesPerNode' | 'script' | 'arguments' | 'nodeSelector' | 'env' | 'tolerations'
> {
  name?: string;
  nprocPerNode: ProcessesPerNode;
  nodeSelector: [string, string][];
  env: [string, string][];
  toleration: Toleration[];
  imagePullSecret: string[];
}

/**
 * Parses the arguments of `ringrun deploy`. Pure, except that commander prints.
 *
 * @param folder the current folder, whose name is the job's default name
 * @throws CommanderError after printing the help (`exitCode` 0) or the mistake (`exitCode` 1).
 */
export function parseDeployment(argv: readonly string[], folder: string): Deployment {
  const command = deployCommand();
  command.parse(argv, { from: 'user' });
  const { nprocPerNode, nodeSelector, env, toleration, imagePullSecret, name, ...rest } =
    command.opts<Parsed>();
  const [script, ...args] = command.args;
  const deployment: Deployment = {
    ...rest,
    name: name ?? values.toJobName(basename(folder)) ?? 'train',
    processesPerNode: nprocPerNode,
    nodeSelector: Object.fromEntries(nodeSelector),
    env: Object.fromEntries(env),
    tolerations: [...(rest.gpus > 0 ? gpuTaints : []), ...toleration],
    imagePullSecrets: imagePullSecret,
    script,
    arguments: args,
  };
  const mistake = mistakeIn(deployment);
  if (mistake !== undefined) command.error(`error: ${mistake}`);
  return deployment;
}

function deployCommand(): Command {
  const command = newCommand('ringrun deploy')
    .description('Writes the Kubernetes manifests, and a Dockerfile, that train a script of this folder.')
    .usage('--image <name> [options] <script> [arguments of the script]')
    .argument('<script>')
    .argument('[arguments...]')
    .passThroughOptions()
    .requiredOption('--image <name>', 'image that is built from this folder', values.parseImage)
    .addOption(
      new Option('--kind <kind>', "PyTorchJob (Kubeflow's training-operator) or TrainJob (Kubeflow Trainer)")
        .default('PyTorchJob')
        .argParser(parseKind),
    )
    .addOption(
      new Option('--nodes <n>', 'number of nodes, or MIN:MAX for nodes that may join and leave')
        .default({ min: 1, max: 1 }, '1')
        .argParser(values.parseNodeRange),
    )
    .addOption(
      new Option('--nproc-per-node <n>', 'workers per node: a number, or auto for one per GPU or CPU')
        .default('auto')
        .argParser(parseProcessCount),
    )
    .option('--name <name>', 'name of the job (default: from the name of this folder)', values.parseJobName)
    .option('--namespace <name>', 'namespace of the job (default: the one of kubectl)', values.parseNamespace)
    .option('--cpu <quantity>', 'CPUs per node', values.parseCpu, '2')
    .option('--memory <quantity>', 'memory per node', values.parseMemory, '4Gi')
    .option('--gpus <n>', 'GPUs per node; tolerates the taints of GPU nodes', values.parseGpus, 0);
  return repeated(command)
    .option(
      '--service-account <name>',
      'service account of the pods, such as one with a role for S3 (default: "default")',
      values.parseObjectName,
    )
    .option('--role-arn <arn>', 'creates the service account with this role of AWS', values.parseRoleArn)
    .option('--oidc-provider <issuer>', "writes the role's trust policy", values.parseOidcProvider)
    .option('--s3-bucket <name>', 'writes the policy of a role for this bucket', values.parseBucket)
    .option('--volume <claim>', 'PersistentVolumeClaim for /volume (default: none)', values.parseObjectName)
    .option('--volume-size <quantity>', 'creates the claim, such as 10Gi', values.parseMemory)
    .addOption(
      new Option('--volume-access <mode>', 'ReadWriteMany, or ReadWriteOnce for the master only')
        .default('ReadWriteMany')
        .argParser(values.parseAccessMode),
    )
    .option('--storage-class <name>', 'storage class of the claim', values.parseObjectName)
    .option(
      '--secret <name>',
      "Kubernetes Secret with the job's secret under the key secret",
      values.parseObjectName,
      'ringrun-secret',
    )
    .option('--base-image <name>', 'FROM of the Dockerfile', values.parseImage)
    .option('--output <folder>', 'folder for the manifests', 'k8s')
    .option('--force', 'replace manifests that exist', false)
    .addHelpText('after', help)
    .configureHelp({ visibleArguments: () => [] });
}

/** The options that may be repeated. */
function repeated(command: Command): Command {
  const lists: readonly (readonly [flags: string, help: string, parse: (text: string) => unknown])[] = [
    ['--toleration <key=value:Effect>', 'taint of nodes that the pods tolerate', values.parseToleration],
    ['--node-selector <key=value>', 'label of the nodes that may run the pods', values.parseLabel],
    ['--image-pull-secret <name>', 'Secret for the registry of the image', values.parseObjectName],
    ['--env <NAME=value>', 'variable of the containers', values.parseVariable],
    ['--include <pattern>', 'files for the image, besides code and settings', values.parsePattern],
  ];
  for (const [flags, text, parse] of lists) {
    command.addOption(
      new Option(flags, `${text}; may be repeated`)
        .default([], 'none')
        .argParser((value, earlier: unknown[]) => [...earlier, parse(value)]),
    );
  }
  return command;
}

function parseKind(text: string): Deployment['kind'] {
  const kind = (['PyTorchJob', 'TrainJob'] as const).find((one) => one.toLowerCase() === text.toLowerCase());
  if (kind) return kind;
  throw new InvalidArgumentError('Expected PyTorchJob or TrainJob.');
}
