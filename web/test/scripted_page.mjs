// One browser and one scripted server for all tests of a file; both end with it. What is returned is there when they begin.
import { after, before } from 'node:test';
import { launch, openPage } from './browser.mjs';
import { startScriptedServer } from './scripted_server.mjs';

export function scriptedPages() {
  const shared = {
    open: (t, options) => openPage(t, shared.browser, shared.server.url, options),
    // A page of a server of its own, with these options.
    openOwn: async (t, scripted, options) => {
      const server = await startScriptedServer(scripted);
      t.after(server.close);
      return { server, ...await openPage(t, shared.browser, server.url, options) };
    },
  };
  before(async () => {
    shared.browser = await launch();
    shared.server = await startScriptedServer();
  });
  after(async () => {
    await shared.browser.close();
    await shared.server.close();
  });
  return shared;
}
