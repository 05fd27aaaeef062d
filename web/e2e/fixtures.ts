/** What every test in the browser starts from: `broker` or `demo`, `page` and `faults`. */
import { test as base, expect } from "@playwright/test";
import { Broker, type BrokerOptions } from "./broker";
import { Demo } from "./demo";
import { Faults } from "./faults";

export { expect };

interface Fixtures {
  /** Options of the broker; `test.use({ brokerOptions: … })` sets them. */
  brokerOptions: BrokerOptions;
  /** An empty broker of this test alone. */
  broker: Broker;
  /** A broker with a review in each state, of this test alone. */
  demo: Demo;
  /** What it has found at the end fails the test. */
  faults: Faults;
}

export const test = base.extend<Fixtures>({
  brokerOptions: [{}, { option: true }],
  faults: [
    async ({ browserName: _ }, use) => {
      const faults = new Faults();
      await use(faults);
      expect(faults.found, "faults in the browser").toEqual([]);
    },
    { auto: true },
  ],
  broker: async ({ brokerOptions, faults }, use, info) => {
    const broker = await Broker.start(brokerOptions);
    faults.allowOrigin(broker.address);
    await use(broker);
    faults.stop();
    if (info.status !== info.expectedStatus) await info.attach("broker.log", { body: broker.log() });
    await broker.remove();
  },
  demo: async ({ faults }, use) => {
    const demo = await Demo.start();
    faults.allowOrigin(demo.address);
    await use(demo);
    faults.stop();
    await demo.remove();
  },
  context: async ({ context, faults }, use) => {
    await faults.watch(context);
    await use(context);
    faults.stop();
  },
});
