// SPDX-License-Identifier: MIT
// Starts the language server, `atled lsp`. All else of the extension works without it.
const vscode = require('vscode');

let client;

function languageClient() {
  try {
    return require('vscode-languageclient/node');
  } catch {
    vscode.window.showWarningMessage(`Atled: for the language server run \`npm install\` in ${__dirname}.`);
    return null;
  }
}

async function activate() {
  const settings = vscode.workspace.getConfiguration('atled');
  const library = settings.get('server') ? languageClient() : null;
  if (!library) return;
  client = new library.LanguageClient('atled', 'Atled', { command: settings.get('path'), args: ['lsp'] }, {
    documentSelector: [{ language: 'atled', scheme: 'file' }, { language: 'atled', scheme: 'untitled' }],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher('**/*.atl') },
  });
  await client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
