import { basename, dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseDoctorOptions } from '../../packages/launcher/src/commands/doctor/options.ts';
import { parseCommandLine } from '../../packages/launcher/src/options/command-line.ts';
import { node } from '../support/command.ts';
import { compiledExample } from '../support/compiled-example.ts';
import { files, podsOf, read } from './manifests.ts';

const all = files.flatMap((file) => read(file).map((manifest) => ({ file, manifest })));

describe('commands of the containers', () => {
  /** Arguments of the image's entrypoint `ringrun`. */
  const commands = all.flatMap(({ file, manifest }) => {
    const { trainer } = (manifest.spec as { trainer?: { args: string[] } } | undefined) ?? {};
    // Replicas of one job run the same command.
    const container = podsOf(manifest)
      .flatMap(({ spec }) => spec.containers)
      .at(0);
    const { args } = trainer ?? container ?? {};
    return args ? [{ file, args }] : [];
  });

  /** The command in this tree instead of the image; with --help, a script prints its options and exits. */
  const help = ([script, ...options]: readonly string[]) =>
    node(['launch', compiledExample(basename(dirname(script))), ...options, '--help']).ended;

  test.each(['pytorchjob-gloo.yaml', 'pytorchjob-elastic.yaml', 'pytorchjob-nccl.yaml', 'trainjob.yaml'])(
    '%s: ringrun and the script accept it',
    async (name) => {
      const [{ args }] = commands.filter(({ file }) => file === name);
      expect(args[0]).toMatch(/^\/opt\/ringrun\/packages\/examples-\w+\/train\.ts$/);
      const { code, stdout, stderr } = await help(args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      for (const option of args.slice(1)) expect(stdout).toContain(`  ${option.split('=')[0]} `);
    },
  );

  // The variables that the operators set for node 1 of a manifest: PET_…, and with a master the others.
  test.each<[file: string, env: NodeJS.ProcessEnv, expected: object]>([
    [
      'pytorchjob-gloo.yaml',
      {
        ...{ MASTER_ADDR: 'mnist-master-0', MASTER_PORT: '23456', WORLD_SIZE: '3', RANK: '1' },
        ...{ PET_MASTER_ADDR: 'mnist-master-0', PET_MASTER_PORT: '23456', PET_NODE_RANK: '1' },
        ...{ PET_NPROC_PER_NODE: 'auto', PET_NNODES: '3' },
      },
      {
        nodes: { min: 3, max: 3 },
        nodeRank: 1,
        processesPerNode: 'auto',
        masterAddress: 'mnist-master-0',
        masterPort: 23456,
      },
    ],
    [
      'pytorchjob-elastic.yaml',
      {
        ...{
          PET_RDZV_BACKEND: 'c10d',
          PET_RDZV_ENDPOINT: 'mnist-elastic-worker-0:23456',
          PET_MAX_RESTARTS: '10',
        },
        ...{ PET_NPROC_PER_NODE: 'auto', PET_NNODES: '1:3' },
      },
      {
        nodes: { min: 1, max: 3 },
        processesPerNode: 'auto',
        maxRestarts: 10,
        rendezvous: { backend: 'c10d', endpoint: { host: 'mnist-elastic-worker-0', port: 23456 } },
      },
    ],
    [
      'trainjob.yaml',
      {
        ...{ PET_NNODES: '2', PET_NPROC_PER_NODE: '2', PET_NODE_RANK: '1' },
        ...{ PET_MASTER_ADDR: 'mnist-node-0-0.mnist', PET_MASTER_PORT: '29500' },
      },
      { nodes: { min: 2, max: 2 }, nodeRank: 1, processesPerNode: 2, masterAddress: 'mnist-node-0-0.mnist' },
    ],
  ])("%s: the operator's environment yields the job that it describes", (name, env, expected) => {
    const [{ args }] = commands.filter(({ file }) => file === name);
    const { options } = parseCommandLine(args, env);
    expect(options).toMatchObject({
      ...expected,
      program: { kind: 'script', name: args[0], arguments: args.slice(1) },
    });
  });

  test('the doctors find each other by the pod names of an indexed job', () => {
    const [service, job] = read('doctors.yaml');
    const [{ args }] = commands.filter(({ file }) => file === 'doctors.yaml');
    const [{ spec }] = podsOf(job) as unknown as [{ spec: { subdomain: string } }];
    expect(service.metadata.name).toBe(spec.subdomain);
    expect(service.spec['selector']).toEqual({ 'job-name': job.metadata.name });
    expect(args).toEqual([
      'doctor',
      `--master-addr=${job.metadata.name}-0.${service.metadata.name}`,
      '--node-rank=$(JOB_COMPLETION_INDEX)',
      '--timeout=300',
    ]);
    const atNode1 = args.slice(1).map((arg) => arg.replace('$(JOB_COMPLETION_INDEX)', '1'));
    expect(parseDoctorOptions(atNode1, {})).toMatchObject({
      master: 'ringrun-doctors-0.ringrun-doctors',
      nodeRank: 1,
      timeoutMs: 300_000,
    });
  });
});
