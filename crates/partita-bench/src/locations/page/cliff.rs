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
        let least = self.settings.budgets_bytes.first().copied().unwrap_or(0);
        let (mut fallen, mut whose, mut most, mut stand) = (Vec::new(), Vec::new(), 0.0, false);
        for contender in &self.settings.contenders {
            if let Some((cell, measured)) = self.deepest(&contender.name, mix) {
                fallen.push(self.fall(cell, measured, mix));
                whose.push(format!("{} ({})", contender.name, contender.engine));
            } else if let Some(measured) = self.measured(&contender.name, least, mix) {
                stand = true;
                most = metadata_bytes(measured).max(most);
            }
        }
        let standing = format!(
            "With {} a lookup{} reads {} of index and filter at most.",
            budget_name(least),
            if fallen.is_empty() { "" } else { " by the others" },
            if most > 0.0 { human::bytes(most) } else { "nothing".to_owned() }
        );
        if fallen.is_empty() {
            return (Notice::Good, format!("{title}: no cliff"), standing);
        }
        if stand {
            fallen.push(standing);
        }
        let title = format!("{title}: {} fell off the cliff", joined_names(&whose));
        (Notice::Problem, title, fallen.join(" "))
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
        let same = |other: &&Cell| other.id.budget_bytes == cell.id.budget_bytes;
        let there =
            self.cells.iter().filter(same).filter_map(|other| Some((other, other.of(mix)?)));
        let best = there.max_by(|one, other| rate(one.1).total_cmp(&rate(other.1)));
        if let Some((other, best)) = best.filter(|(other, _)| other.id != cell.id) {
            told += &format!("; for {} by {}", human::number(rate(best)), other.id.contender);
        }
        told + "."
    }
}
