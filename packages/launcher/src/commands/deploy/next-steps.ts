import type { BuildFiles } from './build-files.ts';
import { kubectlOf, masterOf } from './checks.ts';
import { asksForNccl } from './mistakes.ts';
import type { Deployment } from './deployment.ts';

/** The files that were written, and the commands that build, push and apply them. */
export function nextSteps(
  deployment: Deployment,
  { output, build, manifests }: { output: string; build: BuildFiles; manifests: readonly string[] },
): string {
  const { kind, name, image, secret, nodes } = deployment;
  const kubectl = kubectlOf(deployment);
  const logs =
    kind === 'PyTorchJob'
      ? `${kubectl} logs -f ${masterOf(deployment).host}`
      : `${kubectl} logs -f -l jobset.sigs.k8s.io/jobset-name=${name} --prefix`;
  const note = build.keepsDockerfile
    ? [
        '',
        'The Dockerfile was kept. Its image needs the entrypoint ringrun, this folder as its working folder, and files that',
        'user 1000 can read.',
      ]
    : [];
  const written = [...build.files.map(([path]) => path), ...manifests];
  const isElastic = nodes.min < nodes.max;
  return [
    ...written.map((path) => (build.changed.includes(path) ? `added lines to ${path}` : `wrote ${path}`)),
    '',
    ...build.summary,
    '',
    'Nothing was built or applied. Next:',
    ...awsSteps(deployment, output),
    `  docker build -t ${image} .`,
    `  docker push ${image}`,
    `  ${kubectl} create secret generic ${secret} --from-literal=secret="$(openssl rand -base64 32)"   # once per namespace`,
    `  ${kubectl} apply -f ${inShell(output)}`,
    `  ${logs}`,
    ...(isElastic
      ? [
          `  ${kubectl} scale pytorchjob/${name} --replicas ${nodes.min}   # from ${nodes.min} to ${nodes.max} nodes`,
        ]
      : []),
    '',
    `If it does not train: ${kubectl} apply -f ${inShell(`${output}/checks`)}, and see the comments of its files.`,
    ...gpuNote(deployment),
    ...note,
    '',
  ].join('\n');
}

/** Creates the role of the service account. */
function awsSteps({ roleArn, oidcProvider, s3Bucket }: Deployment, output: string): string[] {
  const role = roleArn?.split('/').at(-1) ?? 'ROLE';
  const file = (name: string) => inShell(`file://${output}/aws/${name}`);
  return [
    ...(oidcProvider === undefined
      ? []
      : [
          `  aws iam create-role --role-name ${role} --assume-role-policy-document ${file('trust-policy.json')}`,
        ]),
    ...(s3Bucket === undefined
      ? []
      : [
          `  aws iam put-role-policy --role-name ${role} --policy-name s3 --policy-document ${file('s3-policy.json')}`,
        ]),
  ];
}

/** A GPU in a pod's limits does not move a model there. */
function gpuNote({ gpus, arguments: args }: Deployment): string[] {
  if (gpus === 0 || asksForNccl(args)) return [];
  return [
    '',
    "The pods have GPUs. Models compute on them if the script calls initProcessGroup({ backend: 'nccl' }) or",
    "model.to('cuda'); otherwise they compute on the CPU.",
  ];
}

function inShell(path: string): string {
  return /^[\w./:-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
