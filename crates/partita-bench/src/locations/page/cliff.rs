//! Who falls off the cliff: under a budget that is too small, lookups read whole filters and indexes again and again.

use partita_charts::{Notice, human};

use super::budget_name;
use crate::locations::report::{Report, joined_names, title};
use crate::locations::task::Cell;
use crate::lookups::{Measured, Mix};

/// A lookup that reads more of index and filter than this, the size of a bookie's data block, spends its time on them.
const CLIFF_BYTES: f64 = 65_536.0;

/// Bytes of index and filter that a lookup reads.
fn metadata_bytes(measured: &Measured) -> f64 {
    measured.bytes_per_get.total() - measured.bytes_per_get.data
}

impl Report {
    /// What to say of a kind of lookups.
    pub(super) fn cliff_notice(&self, mix: Mix) -> (Notice, String, String) {
        let title = title(mix);
        let names = || self.settings.contenders.iter().map(|contender| &*contender.name);
        let fallen: Vec<_> = names().filter_map(|name| self.deepest(name, mix)).collect();
        let least = self.settings.budgets_bytes.first().copied().unwrap_or(0);
        let standing: Vec<&str> = names()
            .filter(|name| !fallen.iter().any(|(cell, _)| cell.id.contender == *name))
            .collect();
        let most = standing.iter().filter_map(|name| self.measured(name, least, mix));
        let most = most.map(metadata_bytes).fold(0.0, f64::max);
        let stand = format!(
            "With {} a lookup{} reads {} of index and filter at most.",
            budget_name(least),
            if fallen.is_empty() {
                String::new()
            } else {
                format!(" by {}", joined_names(&standing))
            },
            if most > 0.0 { human::bytes(most) } else { "nothing".to_owned() }
        );
        if fallen.is_empty() {
            return (Notice::Good, format!("{title}: no cliff"), stand);
        }
        let whose: Vec<&str> = fallen.iter().map(|(cell, _)| &*cell.id.contender).collect();
        let mut told: Vec<String> =
            fallen.iter().map(|(cell, measured)| self.fall(cell, measured, mix)).collect();
        if !standing.is_empty() {
            told.push(stand);
        }
        let title = format!("{title}: the cliff has {}", joined_names(&whose));
        (Notice::Problem, title, told.join(" "))
    }

    /// The cell of a contender that reads the most of index and filter, if that is too much.
    fn deepest(&self, contender: &str, mix: Mix) -> Option<(&Cell, &Measured)> {
        let cells = self.cells.iter().filter(|cell| cell.id.contender == contender);
        let deep = cells.filter_map(|cell| Some((cell, cell.of(mix)?)));
        let by_bytes = |one: &(&Cell, &Measured), other: &(&Cell, &Measured)| {
            metadata_bytes(one.1).total_cmp(&metadata_bytes(other.1))
        };
        deep.filter(|(_, measured)| metadata_bytes(measured) > CLIFF_BYTES).max_by(by_bytes)
    }

    fn fall(&self, cell: &Cell, measured: &Measured, mix: Mix) -> String {
        let rate = |measured: &Measured| 1e6 / measured.cpu_us_per_get;
        let mut told = format!(
            "{} with {}: a lookup reads {} of index and filter, and a second of CPU is good for {} lookups",
            cell.id.contender,
            budget_name(cell.id.budget_bytes),
            human::bytes(metadata_bytes(measured)),
            human::number(rate(measured))
        );
        let ample = self.settings.budgets_bytes.last().copied().unwrap_or(0);
        if let Some(best) = self.measured(&cell.id.contender, ample, mix)
            && ample > cell.id.budget_bytes
        {
            let (rate, budget) = (human::number(rate(best)), budget_name(ample));
            told += &format!(", instead of {rate} with {budget}");
        }
        told + "."
    }
}
