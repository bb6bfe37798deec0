use std::collections::HashMap;

use super::{Finding, OptionsFile, ReadReport};
use crate::options::{
    ColumnFamilyOptions, DbOptions, Effect, OptionSpec, SectionKind, TableOptions,
};

/// One option: what was asked for, what holds, and why.
#[derive(Clone, Debug)]
pub struct EffectiveOption {
    /// The kind of section.
    pub section: SectionKind,
    /// The column family; `None` for the database's.
    pub family: Option<String>,
    /// The name.
    pub name: &'static str,
    /// What the file says, if it does.
    pub asked: Option<String>,
    /// The line that says it.
    pub line: Option<u32>,
    /// What holds.
    pub holds: String,
    /// What comes of it.
    pub effect: Effect,
    /// Why that holds.
    pub why: String,
}

impl EffectiveOption {
    /// Whether what was asked for is not what comes about.
    pub fn falls_short(&self) -> bool {
        self.asked.is_some() && (self.why != AS_ASKED)
    }
}

const AS_ASKED: &str = "as asked";

impl ReadReport {
    /// Every option: what the file asks for, what holds, and why.
    ///
    /// ```
    /// use partita::options::file::{Mode, OptionsFile};
    ///
    /// let text = "[DBOptions]\n[CFOptions \"default\"]\n[TableOptions/BlockBasedTable \"default\"]\n\
    ///             index_type=kBinarySearch\npartition_filters=true\n";
    /// let report = OptionsFile::read(text.as_bytes(), Mode::Lenient);
    /// let effective = report.effective();
    /// let partitioned = effective.iter().find(|option| option.name == "partition_filters").unwrap();
    /// assert_eq!((partitioned.asked.as_deref(), partitioned.holds.as_str()), (Some("true"), "false"));
    /// assert!(partitioned.why.contains("kTwoLevelIndexSearch"), "{}", partitioned.why);
    /// ```
    pub fn effective(&self) -> Vec<EffectiveOption> {
        let mut all = Vec::new();
        let told: HashMap<(Option<u32>, &str), &Finding> = self
            .findings
            .iter()
            .rev()
            .filter_map(|finding| Some(((finding.line, finding.option.as_deref()?), finding)))
            .collect();
        let defaults = OptionsFile::default();
        let mut add =
            |section, family: usize, specs: &mut dyn Iterator<Item = &'static OptionSpec>| {
                for spec in specs {
                    all.push(self.effective_option(section, family, spec, &defaults, &told));
                }
            };
        add(SectionKind::Db, 0, &mut DbOptions::specs());
        for family in 0..self.options.families.len() {
            add(SectionKind::ColumnFamily, family, &mut ColumnFamilyOptions::specs());
            add(SectionKind::Table, family, &mut TableOptions::specs());
        }
        all
    }

    fn effective_option(
        &self,
        section: SectionKind,
        family: usize,
        spec: &'static OptionSpec,
        defaults: &OptionsFile,
        told: &HashMap<(Option<u32>, &str), &Finding>,
    ) -> EffectiveOption {
        let asked = self.asked(section, family, spec.name);
        let holds = self.options.value(section, family, spec.name);
        let finding = asked.and_then(|asked| told.get(&(Some(asked.line), spec.name)));
        let base = self.base.family(&self.options.families[family].name);
        let given = self.base.options.value(section, base, spec.name);
        let is_default = holds == defaults.value(section, 0, spec.name);
        let why = match (asked, finding) {
            (Some(_), Some(finding)) => finding.message.clone(),
            (Some(asked), None) if asked.value == holds => AS_ASKED.to_owned(),
            (Some(_), None) => "changed by other options".to_owned(),
            (None, _) if holds != given => "follows from other options".to_owned(),
            (None, _) if !self.base.name.is_empty() && !is_default => self.base.name.clone(),
            (None, _) if spec.why_other_default.is_empty() => "default, as in RocksDB".to_owned(),
            (None, _) => format!("default: {}", spec.why_other_default),
        };
        EffectiveOption {
            section,
            family: (section != SectionKind::Db)
                .then(|| self.options.families[family].name.clone()),
            name: spec.name,
            asked: asked.map(|asked| asked.text.clone()),
            line: asked.map(|asked| asked.line),
            holds,
            effect: spec.effect,
            why,
        }
    }
}
