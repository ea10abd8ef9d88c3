// Lists s3://data in the environment's service, and prints the error as JSON.
import { openStorage } from 'ringrun';

const error = await openStorage('s3://data')
  .list()
  .then(
    (objects) => ({ code: 'none', message: `${objects.length} objects` }),
    (error: unknown) => {
      const { code, message } = error as { code: string; message: string };
      return { code, message };
    },
  );
console.log(JSON.stringify(error));
