//! The turns of a history are taken.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use fastrand::Rng;
use partita::io::DiskFileSystem;
use partita_proof::ours::Place;
use partita_proof::state::Model;
use partita_proof::step::{Row, Slot, Step};
use partita_proof::subject::{Compared, check};

use super::script::{End, Setting, Turn};
use super::{Engine, Player, beside};
use crate::directories;

/// Looks at a database that nobody has open, as RocksDB's tools do; how many tables there are.
pub type Inspect = fn(&Path) -> Result<usize, String>;

/// Who plays, and how.
pub struct Arena<'e> {
    /// All engines, Partita first.
    pub engines: Vec<&'e dyn Engine>,
    /// Tools to look with at some databases in the end.
    pub inspect: Option<Inspect>,
    /// The program whose `--turn` takes a turn in a process that can be killed; without one, kills are copies.
    pub program: Option<PathBuf>,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Turns that each engine took.
    pub turns: BTreeMap<&'static str, u64>,
    /// Databases that were copied while they were open.
    pub copies: u64,
    /// Processes killed.
    pub kills: u64,
    /// Checkpoints compared.
    pub checkpoints: u64,
    /// External files of one engine ingested by another.
    pub foreign_files: u64,
    /// Tables that RocksDB's tools verified.
    pub tables: u64,
    /// What was compared.
    pub compared: Compared,
}

impl Tally {
    /// Adds that of another history.
    pub fn add(&mut self, other: Self) {
        for (name, turns) in other.turns {
            *self.turns.entry(name).or_default() += turns;
        }
        self.copies += other.copies;
        self.kills += other.kills;
        self.checkpoints += other.checkpoints;
        self.foreign_files += other.foreign_files;
        self.tables += other.tables;
        self.compared.add(other.compared);
    }
}

impl Arena<'_> {
    /// Plays a history in a directory of its own below `work`.
    ///
    /// * On the first difference: at which step of whose turn, and what differs. The directory is left as it is then.
    pub fn play(&self, setting: &Setting, work: &Path) -> Result<Tally, String> {
        let work = work.join(format!("{}", setting.seed));
        fs::create_dir(&work).map_err(|error| format!("{}: {error}", work.display()))?;
        let mut game = Game::new(self, setting, work.join("db"));
        for at in 0..game.turns.len() {
            game.take(at).map_err(|said| game.explain(at, &said))?;
        }
        if let Some(inspect) = self.inspect {
            let said = |said| format!("the tools: {said}");
            game.tally.tables += inspect(&game.place.dir).map_err(said)? as u64;
        }
        let tally = game.tally;
        fs::remove_dir_all(&work).map_err(|error| error.to_string())?;
        Ok(tally)
    }

    /// Takes one turn, whose steps are done when this returns, and leaves the database open.
    ///
    /// * The player is to live until the process is killed.
    pub fn take_turn(
        &self,
        setting: &Setting,
        dir: &Path,
        turn: usize,
    ) -> Result<(Box<dyn Player>, Tally), String> {
        let mut game = Game::new(self, setting, dir.to_owned());
        for turn in &game.turns[..turn] {
            turn.steps.iter().for_each(|step| game.model.apply(step));
            game.model.apply(&Step::Reopen(0));
        }
        let turn = game.turns[turn].clone();
        let player = game.play_steps(&turn)?;
        Ok((player, game.tally))
    }
}

struct Game<'g> {
    arena: &'g Arena<'g>,
    setting: &'g Setting,
    turns: Vec<Turn>,
    place: Place,
    model: Model,
    /// Directories that the database has had.
    moves: usize,
    tally: Tally,
}

impl<'g> Game<'g> {
    fn new(arena: &'g Arena<'g>, setting: &'g Setting, dir: PathBuf) -> Self {
        let abilities: Vec<_> = arena.engines.iter().map(|engine| engine.abilities()).collect();
        let place = Place {
            fs: Arc::new(DiskFileSystem),
            dir,
            scheduler: None,
            clock: None,
            order: setting.order,
            options: setting.options.clone(),
        };
        Self {
            arena,
            setting,
            turns: setting.turns(&abilities),
            place,
            model: Model::new(setting.order),
            moves: 0,
            tally: Tally::default(),
        }
    }

    /// Takes a turn and hands over.
    fn take(&mut self, at: usize) -> Result<(), String> {
        let turn = self.turns[at].clone();
        let engine = self.arena.engines[turn.engine];
        let is_killed = turn.end == End::Kill && engine.abilities().is_in_process;
        if let Some(program) = self.arena.program.as_deref().filter(|_| is_killed) {
            self.play_and_kill(program, at)?;
            turn.steps.iter().for_each(|step| self.model.apply(step));
        } else {
            let player = self.play_steps(&turn)?;
            match turn.end {
                End::Close => player.close().map_err(|said| format!("closing: {said}"))?,
                End::Copy | End::Kill => self.go_on_with_a_copy(player)?,
            }
        }
        // Snapshots have gone.
        self.model.apply(&Step::Reopen(0));
        *self.tally.turns.entry(engine.name()).or_default() += 1;
        Ok(())
    }

    fn play_steps(&mut self, turn: &Turn) -> Result<Box<dyn Player>, String> {
        let mut random = Rng::with_seed(self.setting.seed ^ turn.steps.len() as u64);
        let mut player = self.arena.engines[turn.engine]
            .open(&self.place, turn.options)
            .map_err(|said| format!("opening: {said}"))?;
        let handed_over = check(&mut *player, &self.model);
        self.tally.compared.add(handed_over.map_err(|said| format!("handed over: {said}"))?);
        for (at, step) in turn.steps.iter().enumerate() {
            self.do_step(&mut *player, turn, step, &mut random)
                .map_err(|said| format!("step {at}, {step:?}: {said}"))?;
            self.tally.compared.steps += 1;
        }
        // What the snapshots see, and what was not on disk yet.
        let left = check(&mut *player, &self.model);
        self.tally.compared.add(left.map_err(|said| format!("at the end: {said}"))?);
        Ok(player)
    }

    fn do_step(
        &mut self,
        player: &mut dyn Player,
        turn: &Turn,
        step: &Step,
        random: &mut Rng,
    ) -> Result<(), String> {
        match step {
            Step::Ingest(files) => self.ingest(player, turn, step, files, random)?,
            Step::Checkpoint => self.compare_checkpoint(player, turn.options, random)?,
            step => player.apply(step)?,
        }
        self.model.apply(step);
        if *step == Step::Check {
            self.tally.compared.add(check(player, &self.model)?);
        }
        Ok(())
    }

    /// Files are made by whoever can, and now and then by another.
    fn ingest(
        &mut self,
        player: &mut dyn Player,
        turn: &Turn,
        step: &Step,
        files: &[(Slot, Vec<Row>)],
        random: &mut Rng,
    ) -> Result<(), String> {
        let makers = self.setting.roster.iter().copied();
        let makers = makers.filter(|at| self.arena.engines[*at].abilities().makes_files);
        let makers: Vec<usize> = makers.collect();
        let can = makers.contains(&turn.engine);
        let maker = match can && random.u8(..4) > 0 {
            true => turn.engine,
            false => makers[random.usize(..makers.len())],
        };
        // It does all of it at once, in ways that others have not.
        const PARTITA: usize = 0;
        if maker == turn.engine && maker == PARTITA {
            return player.apply(step);
        }
        let dir = beside(&self.place.dir, "files");
        fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
        let mut paths = Vec::new();
        for (at, (slot, rows)) in files.iter().enumerate() {
            let path = dir.join(format!("{at}.sst"));
            self.arena.engines[maker]
                .write_external_file(&self.place, turn.options, &path, rows)
                .map_err(|said| format!("an external file: {said}"))?;
            paths.push((*slot, path));
        }
        self.tally.foreign_files += u64::from(maker != turn.engine) * paths.len() as u64;
        player.ingest(&paths)?;
        fs::remove_dir_all(&dir).map_err(|error| error.to_string())
    }

    /// A checkpoint is opened by anybody, and holds what the database holds.
    fn compare_checkpoint(
        &mut self,
        player: &mut dyn Player,
        options: usize,
        random: &mut Rng,
    ) -> Result<(), String> {
        let dir = beside(&self.place.dir, "checkpoint");
        player.checkpoint(&dir)?;
        let roster = &self.setting.roster;
        let engine = self.arena.engines[roster[random.usize(..roster.len())]];
        let said = |said: String| format!("read by {}: {said}", engine.name());
        let place = Place { dir: dir.clone(), ..self.place.clone() };
        let mut copy = engine.open(&place, options).map_err(said)?;
        let mut model = self.model.clone();
        // Snapshots have gone.
        model.apply(&Step::Reopen(0));
        self.tally.compared.add(check(&mut *copy, &model).map_err(said)?);
        self.tally.checkpoints += 1;
        copy.close().map_err(said)?;
        fs::remove_dir_all(&dir).map_err(|error| error.to_string())
    }

    fn go_on_with_a_copy(&mut self, player: Box<dyn Player>) -> Result<(), String> {
        self.moves += 1;
        let dir = self.place.dir.with_file_name(format!("db{}", self.moves));
        directories::copy(&self.place.dir, &dir);
        drop(player);
        fs::remove_dir_all(&self.place.dir).map_err(|error| error.to_string())?;
        self.place.dir = dir;
        self.tally.copies += 1;
        Ok(())
    }

    /// Another process takes the turn, and is killed when all its steps are done: what goes on in the background ends
    /// somewhere.
    fn play_and_kill(&mut self, program: &Path, turn: usize) -> Result<(), String> {
        let roster: Vec<String> = self.setting.roster.iter().map(usize::to_string).collect();
        let mut child = Command::new(program)
            .args(["--turn", &turn.to_string(), "--seed", &self.setting.seed.to_string()])
            .args(["--steps", &self.setting.steps.to_string(), "--roster", &roster.join(",")])
            .arg("--dir")
            .arg(&self.place.dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("it was asked for"));
        let read = stdout.read_line(&mut line);
        let killed = child.kill().and_then(|()| child.wait());
        read.and(killed).map_err(|error| error.to_string())?;
        let numbers: Vec<u64> = line.split_whitespace().map_while(|it| it.parse().ok()).collect();
        let &[steps, checks, rows, gets] = numbers.as_slice() else {
            return Err(format!("in another process: {line}"));
        };
        self.tally.compared.add(Compared { steps, checks, rows, gets });
        self.tally.kills += 1;
        Ok(())
    }

    /// What was said at a turn, with all that is to be known of the game.
    fn explain(&self, at: usize, said: &str) -> String {
        let told = |(at, turn): (usize, &Turn)| {
            let name = self.arena.engines[turn.engine].name();
            format!("  {at}: {name}, options {}, {:?}", turn.options, turn.end)
        };
        let turns: Vec<String> = self.turns.iter().enumerate().take(at + 1).map(told).collect();
        format!("turn {at}, {said}\n{}\nin {}", turns.join("\n"), self.place.dir.display())
    }
}
