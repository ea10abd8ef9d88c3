import type { Deployment } from './deployment.ts';

/** What is wrong with a combination of options, and the fix. Undefined if nothing is. */
export function mistakeIn(deployment: Deployment): string | undefined {
  const { kind, name, nodes, gpus, processesPerNode, env } = deployment;
  // Each pod's name is one label of a host name. The Job controller adds five random characters and a hyphen.
  const suffix = kind === 'PyTorchJob' ? `-worker-${nodes.max}` : `-node-0-${nodes.max}-abcde`;
  if (name.length + suffix.length > 63)
    return `--name: expected at most ${63 - suffix.length} characters, because pods are named ${name}${suffix}, got ${name.length}. Shorten it.`;
  if (kind === 'TrainJob' && (processesPerNode === 'cpu' || processesPerNode === 'gpu'))
    return `--nproc-per-node: a TrainJob takes a number or auto, got ${processesPerNode}. Use auto.`;
  if (kind === 'TrainJob' && nodes.min < nodes.max)
    return `--nodes: a TrainJob has a fixed number of nodes, got ${nodes.min}:${nodes.max}. Use --kind PyTorchJob.`;
  if (processesPerNode === 'gpu' && gpus === 0)
    return '--nproc-per-node gpu needs GPUs. Add --gpus, or use auto.';
  if (asksForNccl(deployment.arguments)) {
    if (gpus === 0) return 'the argument --backend nccl of the script needs GPUs. Add --gpus 1.';
    if (typeof processesPerNode === 'number' && processesPerNode > gpus)
      return `--nproc-per-node: expected at most ${gpus}, the GPUs of a node, because NCCL needs one GPU for each process, got ${processesPerNode}. Use auto, or raise --gpus.`;
  }
  if ('RINGRUN_SECRET' in env)
    return '--env RINGRUN_SECRET would write the secret into a manifest. Use --secret with the name of a Kubernetes Secret.';
  const credential = ['AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'].find((name) => name in env);
  if (credential !== undefined)
    return `--env ${credential} would write a credential into a manifest. Use --service-account with a role, or add a secretKeyRef to the manifest.`;
  return mistakeInVolume(deployment) ?? mistakeInRole(deployment);
}

function mistakeInVolume(deployment: Deployment): string | undefined {
  const { kind, nodes, volume, volumeSize, volumeAccess, storageClass } = deployment;
  const unused = Object.entries({ '--volume-size': volumeSize, '--storage-class': storageClass }).find(
    ([, value]) => value !== undefined,
  );
  if (volume === undefined)
    return unused && `${unused[0]}: expected a claim as well, got none. Name it with --volume.`;
  if (storageClass !== undefined && volumeSize === undefined)
    return '--storage-class is for a claim that is created. Add --volume-size, such as 10Gi.';
  if (volumeAccess === 'ReadWriteMany' || nodes.max === 1) return undefined;
  const other = 'Use a claim of ReadWriteMany, or checkpoints in s3://.';
  if (nodes.min < nodes.max)
    return `--volume-access ReadWriteOnce: expected a number of nodes, got ${nodes.min}:${nodes.max}, of which any may write checkpoints. ${other}`;
  if (kind === 'TrainJob')
    return `--volume-access ReadWriteOnce: expected one node or a PyTorchJob, got a TrainJob, whose pods all mount the same volumes. ${other}`;
  return undefined;
}

function mistakeInRole({ serviceAccount, roleArn, oidcProvider }: Deployment): string | undefined {
  if (roleArn !== undefined && serviceAccount === undefined)
    return '--role-arn: expected the service account that gets the role, got none. Add --service-account trainer.';
  if (oidcProvider !== undefined && roleArn === undefined)
    return '--oidc-provider: expected the role that trusts it, got none. Add --role-arn.';
  return undefined;
}

/** True for `--backend nccl` and `--backend=nccl`, as the examples take it. */
export function asksForNccl(args: readonly string[]): boolean {
  return args.some((arg, i) => arg === '--backend=nccl' || (arg === '--backend' && args[i + 1] === 'nccl'));
}
