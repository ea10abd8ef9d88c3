import { readDockerfile } from '../deploy/dockerfile.ts';
import { repository } from '../support/environment.ts';
import { emptyImage } from './kubelet/images.ts';
import type { Image } from './kubelet/images.ts';

/** The image of deploy/Dockerfile over the files of this machine and the packages of this repository, as built here. */
export function ringrunImage(): Image {
  const instructions = readDockerfile('Dockerfile');
  const last = (name: string): string => instructions.findLast((each) => each.name === name)!.text;
  const environment = Object.fromEntries(
    last('ENV')
      .split(' ')
      .map((each) => each.split('=') as [string, string]),
  );
  return {
    ...emptyImage,
    name: 'ringrun',
    entrypoint: JSON.parse(last('ENTRYPOINT')) as string[],
    command: JSON.parse(last('CMD')) as string[],
    user: Number(last('USER').split(':')[0]),
    workingDirectory: last('WORKDIR'),
    // The home of the user in Node's image.
    environment: { ...emptyImage.environment, ...environment, HOME: '/home/node' },
    binds: { '/opt/ringrun': repository, '/usr/local/bin/node': process.execPath },
    scripts: {
      '/usr/local/bin/ringrun': '#!/bin/sh\nexec /opt/ringrun/packages/runtime/bin/ringrun.js "$@"\n',
    },
    folders: ['/home/node', '/workspace', '/volume'],
  };
}
