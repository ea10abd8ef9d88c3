// `api-reference.js [--check]`: writes the API reference of the public packages to docs/api; --check writes nothing. Exits
// with 1 on an undocumented export or member, a type that is used but not exported, or a link without a target.
import { Application, TSConfigReader, TypeDocReader } from 'typedoc';

const app = await Application.bootstrapWithPlugins({}, [new TypeDocReader(), new TSConfigReader()]);
const project = await app.convert();
if (project === undefined) process.exit(1); // TypeDoc has printed the compiler's errors.
app.validate(project);
// Parts of the types of calls, whose pages explain nothing more.
const partsOfTypes = { '@ringrun/nn': ['Forms', 'Named', 'signatures', 'SpreadArguments'] };
// In one project of several packages, TypeDoc looks for missing exports only in the package that the project is named after.
const missingExports = { notExported: true, notDocumented: false, invalidLink: false, invalidPath: false };
app.options.setValue('validation', missingExports);
for (const name of app.options.getValue('packagesRequiringDocumentation')) {
  project.packageName = name;
  app.options.setValue('intentionallyNotExported', partsOfTypes[name] ?? []);
  app.validate(project);
}
const { errorCount, warningCount } = app.logger;
if (errorCount + warningCount > 0) {
  console.error(
    `api-reference: ${errorCount} errors, ${warningCount} warnings. Document, export or link the names in them.`,
  );
  process.exitCode = 1;
}
if (!process.argv.includes('--check')) await app.generateOutputs(project);
