// An S3-compatible server of its own process, so that it can be killed: `node s3-server.mjs FOLDER BUCKET …`. Prints its port.
import S3rver from 's3rver';

const [directory, ...buckets] = process.argv.slice(2);
const configureBuckets = buckets.map((name) => ({ name }));
const server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets });
const { port } = await server.run();
console.log(port);
