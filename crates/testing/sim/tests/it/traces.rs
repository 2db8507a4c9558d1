//! The simulated journal may stand for a real one: on the same schedule every transfer lives the
//! same life on it as on the embedded store.

use crate::clients::{FaultRates, on_simulated, run};
use crate::real_stores::embedded;
use sim::world::Sim;

#[test]
fn the_embedded_store_lives_the_same_lives() {
    for (seed, fuse, calls) in [(1, true, 0), (2, false, 0), (3, true, 6), (4, false, 6)] {
        let rates = FaultRates { calls, writes: 0, cuts: 0 };
        let simulated = on_simulated(seed, fuse, rates);
        let dir = tempfile::tempdir().unwrap();
        let sim = Sim::new(seed);
        let site = embedded(&sim, dir.path().to_owned());
        let real = run((seed, fuse, rates), &sim, site, || ());
        assert_eq!(real.transfers(), simulated.transfers(), "seed={seed} fuse={fuse}");
        for (n, (real, simulated)) in real.traces().iter().zip(simulated.traces()).enumerate() {
            assert_eq!(real, &simulated, "seed={seed} fuse={fuse}: transfer {n}");
        }
    }
}

#[test]
fn the_embedded_store_survives_power_cuts_of_the_others() {
    for seed in 0..3 {
        let rates = FaultRates { calls: 6, writes: 0, cuts: 2 };
        let dir = tempfile::tempdir().unwrap();
        let sim = Sim::new(seed);
        let site = embedded(&sim, dir.path().to_owned());
        run((seed, seed % 2 == 0, rates), &sim, site, || ());
    }
}
