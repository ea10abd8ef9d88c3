import type { BuildFiles } from './build-files.ts';
import type { Deployment } from './options.ts';

/** The files that were written, and the commands that build, push and apply them. */
export function nextSteps(
  { kind, name, namespace, image, secret }: Deployment,
  { output, build, manifests }: { output: string; build: BuildFiles; manifests: readonly string[] },
): string {
  const kubectl = namespace === undefined ? 'kubectl' : `kubectl -n ${namespace}`;
  const logs =
    kind === 'PyTorchJob'
      ? `${kubectl} logs -f ${name}-master-0`
      : `${kubectl} logs -f -l jobset.sigs.k8s.io/jobset-name=${name} --prefix`;
  const note = build.keepsDockerfile
    ? [
        '',
        'The Dockerfile was kept. Its image needs the entrypoint ringrun, this folder as its working folder, and files that',
        'user 1000 can read.',
      ]
    : [];
  const written = [...build.files.map(([path]) => path), ...manifests];
  return [
    ...written.map((path) => (build.changed.includes(path) ? `added lines to ${path}` : `wrote ${path}`)),
    '',
    ...build.summary,
    '',
    'Nothing was built or applied. Next:',
    `  docker build -t ${image} .`,
    `  docker push ${image}`,
    `  ${kubectl} create secret generic ${secret} --from-literal=secret="$(openssl rand -base64 32)"   # once per namespace`,
    `  ${kubectl} apply -f ${inShell(output)}`,
    `  ${logs}`,
    ...note,
    '',
  ].join('\n');
}

function inShell(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
