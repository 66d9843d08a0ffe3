//! A disk that may lose what was not made durable.
//!
//! What POSIX promises: fsync of a file makes its bytes durable, fsync of a folder the names in it,
//! and a rename is one step. All else may reach the disk or not, in any order: each name that was
//! made, renamed or removed since the last fsync of its folder, apart from the others; and of a file
//! whose bytes were not synced, the bytes before, the new ones, half of the new ones, or zeros in
//! their place. Owners and modes are taken to be durable at once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::trace::Change;
use crate::random::Random;
use crate::support::{Entry, State, World, fixture};

/// Files, folders and links, by their paths. A folder comes before what is in it.
pub(crate) type Tree = BTreeMap<PathBuf, Entry>;

#[derive(Clone, Debug)]
pub(crate) struct Disk {
    nodes: Vec<Node>,
    /// The parts of the world's folder that are modelled, by path.
    tops: BTreeMap<PathBuf, usize>,
    world: PathBuf,
}

#[derive(Clone, Debug)]
enum Node {
    File { mode: u32, durable: Vec<u8>, now: Vec<u8>, is_fleeting: bool },
    Link(PathBuf),
    Folder(Folder),
}

#[derive(Clone, Debug, Default)]
struct Folder {
    mode: u32,
    durable: BTreeMap<OsString, usize>,
    now: BTreeMap<OsString, usize>,
    pending: Vec<Step>,
}

/// What one call does to the names of a folder: all of it, or nothing.
#[derive(Clone, Debug)]
struct Step {
    names: Vec<(OsString, Option<usize>)>,
    is_fleeting: bool,
}

/// Something that may have reached the disk in more than one way, and how many ways there are.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// The n-th step of a folder: lost or kept.
    Step(usize, usize),
    /// Of a file: the bytes before, the new ones, half of them, zeros.
    Bytes(usize),
    /// All that only living processes and readers of the journal need, together: lost, kept, torn.
    Fleeting,
}

impl Choice {
    fn ways(self) -> usize {
        match self {
            Self::Step(..) => 2,
            Self::Bytes(_) => 4,
            Self::Fleeting => 3,
        }
    }
}

/// Which way each of the choices went: what a state differs by from the others of the same cut.
pub(crate) type Ways = Vec<usize>;

/// The digests of what files contain, by file and way.
type Contents = HashMap<(usize, usize), u64>;

/// What is at a path.
enum Seen<'a> {
    Folder(u32),
    Link(&'a Path),
    /// The node of a file that reached the disk in one of its ways.
    File {
        id: usize,
        mode: u32,
        durable: &'a [u8],
        now: &'a [u8],
        way: usize,
    },
}

const LOST: usize = 0;
const KEPT: usize = 1;
const HALF: usize = 2;

impl Disk {
    /// A disk on which everything is durable.
    pub(crate) fn new(world: &Path, tree: &Tree) -> Self {
        let mut disk = Self { nodes: Vec::new(), tops: BTreeMap::new(), world: world.to_owned() };
        // The world's own folder: the names in it are durable or not like any others.
        disk.nodes.push(Node::Folder(Folder { mode: 0o755, ..Folder::default() }));
        disk.tops.insert(world.to_owned(), 0);
        for (path, entry) in tree {
            let node = match entry {
                Entry::Folder(mode) => Node::Folder(Folder { mode: *mode, ..Folder::default() }),
                Entry::File(mode, bytes) => Node::File {
                    mode: *mode,
                    durable: bytes.clone(),
                    now: bytes.clone(),
                    is_fleeting: disk.is_fleeting(path),
                },
                Entry::Link(target) => Node::Link(target.clone()),
            };
            let id = disk.add(node);
            disk.step(path, &[(path, Some(id))]);
            disk.apply(&Change::Sync { path: path.parent().unwrap().to_owned() });
        }
        disk
    }

    /// A call that returned.
    pub(crate) fn apply(&mut self, change: &Change) {
        if !self.is_modelled(change.path()) {
            return;
        }
        match change {
            Change::Create { path, mode } => {
                if self.find(path).is_none() {
                    let is_fleeting = self.is_fleeting(path);
                    let (durable, now) = (Vec::new(), Vec::new());
                    let id = self.add(Node::File { mode: *mode, durable, now, is_fleeting });
                    self.step(path, &[(path, Some(id))]);
                }
            }
            Change::Folder { path, mode } => {
                let id = self.add(Node::Folder(Folder { mode: *mode, ..Folder::default() }));
                self.step(path, &[(path, Some(id))]);
            }
            Change::Symlink { path, target } => {
                let id = self.add(Node::Link(target.clone()));
                self.step(path, &[(path, Some(id))]);
            }
            Change::Link { path, second } => {
                let id = self.find(path);
                self.step(second, &[(second, id)]);
            }
            Change::Remove { path } => self.step(path, &[(path, None)]),
            Change::Rename { from, to } => {
                let id = self.find(from);
                assert_eq!(from.parent(), to.parent(), "a rename between folders is not modelled");
                self.step(to, &[(from, None), (to, id)]);
            }
            Change::Exchange { one, other } => {
                let (first, second) = (self.find(one), self.find(other));
                self.step(one, &[(one, second), (other, first)]);
            }
            Change::Write { path, at, bytes } => {
                if let Some(Node::File { now, .. }) = self.node(path) {
                    let start = at.unwrap_or(now.len());
                    now.resize(now.len().max(start + bytes.len()), 0);
                    now[start..start + bytes.len()].copy_from_slice(bytes);
                }
            }
            Change::Sync { path } => match self.node(path) {
                Some(Node::File { durable, now, .. }) => durable.clone_from(now),
                Some(Node::Folder(folder)) => {
                    folder.durable.clone_from(&folder.now);
                    folder.pending.clear();
                }
                Some(Node::Link(_)) | None => {}
            },
            Change::Mode { path, mode: new } => match self.node(path) {
                Some(Node::File { mode, .. } | Node::Folder(Folder { mode, .. })) => *mode = *new,
                Some(Node::Link(_)) | None => {}
            },
        }
    }

    /// The states of the disk after a power loss now, each once, with its digest.
    ///
    /// All of them where there are at most `most`. Otherwise those in which everything, or nothing,
    /// reached the disk but for one thing, and `most` of the others, drawn with `seed`.
    pub(crate) fn states(&self, most: usize, seed: u64) -> Vec<(Ways, u64)> {
        let choices = self.choices();
        let count = choices.iter().try_fold(1_usize, |all, one| all.checked_mul(one.ways()));
        let mut drawn: Vec<Ways> = Vec::new();
        if let Some(count) = count.filter(|count| *count <= most) {
            drawn.extend((0..count).map(|number| digits(number, &choices)));
        } else {
            for base in [KEPT, LOST] {
                drawn.push(vec![base; choices.len()]);
                for (place, choice) in choices.iter().enumerate() {
                    for way in (0..choice.ways()).filter(|way| *way != base) {
                        let mut ways = vec![base; choices.len()];
                        ways[place] = way;
                        drawn.push(ways);
                    }
                }
            }
            let mut random = Random(seed);
            drawn.extend(
                (0..most)
                    .map(|_| choices.iter().map(|choice| random.below(choice.ways())).collect()),
            );
        }
        let (mut known, mut contents) = (HashSet::new(), HashMap::new());
        let mut states = Vec::new();
        for ways in drawn {
            let digest = self.digest(&choices, &ways, &mut contents);
            if known.insert(digest) {
                states.push((ways, digest));
            }
        }
        states
    }

    /// What is on the disk in one of its states.
    pub(crate) fn tree(&self, ways: &Ways) -> Tree {
        let mut tree = Tree::new();
        self.walk(&self.choices(), ways, &mut |path, what| {
            let entry = match what {
                Seen::Folder(mode) => Entry::Folder(mode),
                Seen::Link(target) => Entry::Link(target.to_owned()),
                Seen::File { mode, durable, now, way, .. } => {
                    Entry::File(mode, torn(durable, now, way))
                }
            };
            tree.insert(path, entry);
        });
        tree
    }

    /// The same for the same trees. The digests of what files contain are looked up in `contents`: most
    /// are the same in every state of a cut.
    fn digest(&self, choices: &[Choice], ways: &[usize], contents: &mut Contents) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.walk(choices, ways, &mut |path, what| {
            path.hash(&mut hasher);
            match what {
                Seen::Folder(mode) => mode.hash(&mut hasher),
                Seen::Link(target) => target.hash(&mut hasher),
                Seen::File { id, mode, durable, now, way } => {
                    let content = contents.entry((id, way)).or_insert_with(|| {
                        let mut hasher = DefaultHasher::new();
                        torn(durable, now, way).hash(&mut hasher);
                        hasher.finish()
                    });
                    (mode, *content).hash(&mut hasher);
                }
            }
        });
        hasher.finish()
    }

    fn choices(&self) -> Vec<Choice> {
        let (mut choices, mut has_fleeting) = (Vec::new(), false);
        for (id, node) in self.nodes.iter().enumerate() {
            match node {
                Node::File { durable, now, is_fleeting, .. } if durable != now => {
                    has_fleeting |= is_fleeting;
                    choices.extend((!is_fleeting).then_some(Choice::Bytes(id)));
                }
                Node::Folder(folder) => {
                    for (number, step) in folder.pending.iter().enumerate() {
                        has_fleeting |= step.is_fleeting;
                        choices.extend((!step.is_fleeting).then_some(Choice::Step(id, number)));
                    }
                }
                Node::File { .. } | Node::Link(_) => {}
            }
        }
        choices.extend(has_fleeting.then_some(Choice::Fleeting));
        choices
    }

    /// Shows all that is on the disk in one of its states; a folder comes before what is in it.
    fn walk(&self, choices: &[Choice], ways: &[usize], visit: &mut impl FnMut(PathBuf, Seen<'_>)) {
        let mut found = Found::default();
        for (choice, way) in choices.iter().zip(ways) {
            match choice {
                Choice::Step(folder, number) => drop(found.steps.insert((*folder, *number), *way)),
                Choice::Bytes(file) => drop(found.bytes.insert(*file, *way)),
                Choice::Fleeting => found.fleeting = *way,
            }
        }
        self.walk_node(0, &self.world, &found, visit);
    }

    fn walk_node(
        &self,
        id: usize,
        path: &Path,
        found: &Found,
        visit: &mut impl FnMut(PathBuf, Seen<'_>),
    ) {
        match &self.nodes[id] {
            Node::File { mode, durable, now, is_fleeting } => {
                let way = if *is_fleeting {
                    found.fleeting
                } else {
                    found.bytes.get(&id).copied().unwrap_or(KEPT)
                };
                visit(path.to_owned(), Seen::File { id, mode: *mode, durable, now, way });
            }
            Node::Link(target) => visit(path.to_owned(), Seen::Link(target)),
            Node::Folder(folder) => {
                if path != self.world {
                    visit(path.to_owned(), Seen::Folder(folder.mode));
                }
                let mut names = folder.durable.clone();
                for (number, step) in folder.pending.iter().enumerate() {
                    let way = found.steps.get(&(id, number));
                    let way = if step.is_fleeting {
                        found.fleeting
                    } else {
                        way.copied().unwrap_or(KEPT)
                    };
                    if way == LOST {
                        continue;
                    }
                    for (name, node) in &step.names {
                        match node {
                            Some(node) => drop(names.insert(name.clone(), *node)),
                            None => drop(names.remove(name)),
                        }
                    }
                }
                for (name, node) in names {
                    self.walk_node(node, &path.join(name), found, visit);
                }
            }
        }
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn step(&mut self, path: &Path, names: &[(&Path, Option<usize>)]) {
        let is_fleeting = names.iter().all(|(path, _)| self.is_fleeting(path));
        let names: Vec<_> =
            names.iter().map(|(path, id)| (path.file_name().unwrap().to_owned(), *id)).collect();
        let Some(Node::Folder(folder)) = self.node(path.parent().unwrap()) else {
            panic!("{} is in no folder", path.display());
        };
        for (name, id) in &names {
            match id {
                Some(id) => drop(folder.now.insert(name.clone(), *id)),
                None => drop(folder.now.remove(name)),
            }
        }
        folder.pending.push(Step { names, is_fleeting });
    }

    fn find(&self, path: &Path) -> Option<usize> {
        let mut id = 0;
        for name in path.strip_prefix(&self.world).ok()? {
            let Node::Folder(folder) = &self.nodes[id] else { return None };
            id = *folder.now.get(name)?;
        }
        Some(id)
    }

    fn node(&mut self, path: &Path) -> Option<&mut Node> {
        let id = self.find(path)?;
        self.nodes.get_mut(id)
    }

    /// State and output; not what the tests put beside them.
    fn is_modelled(&self, path: &Path) -> bool {
        path == self.world || MODELLED.iter().any(|top| path.starts_with(self.world.join(top)))
    }

    /// Locks, the queue of living processes, the journal that is for people: never synced.
    fn is_fleeting(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(self.world.join("state")) else { return false };
        let name = below.file_name().unwrap_or_default().to_string_lossy();
        let begins = ["events.jsonl", "scheduler.json", "alerted-"];
        let is_lock = below.starts_with("locks") && below.components().count() > 1;
        is_lock || begins.iter().any(|begin| name.starts_with(begin))
    }
}

/// What reached the disk.
#[derive(Default)]
struct Found {
    steps: BTreeMap<(usize, usize), usize>,
    bytes: BTreeMap<usize, usize>,
    fleeting: usize,
}

fn torn(durable: &[u8], now: &[u8], way: usize) -> Vec<u8> {
    let same = durable.iter().zip(now).take_while(|(before, after)| before == after).count();
    match way {
        LOST => durable.to_vec(),
        KEPT => now.to_vec(),
        HALF => now[..same + (now.len() - same) / 2].to_vec(),
        _ => [&now[..same], &vec![0; now.len() - same]].concat(),
    }
}

/// The digits of a number, each to the base of its choice.
fn digits(mut number: usize, choices: &[Choice]) -> Vec<usize> {
    let digit = |choice: &Choice| {
        let digit = number % choice.ways();
        number /= choice.ways();
        digit
    };
    choices.iter().map(digit).collect()
}

/// Writes a tree into the world's folder, in place of what is there.
pub(crate) fn put(world: &Path, tree: &Tree) {
    for top in MODELLED {
        let path = world.join(top);
        if path.exists() {
            fs::remove_dir_all(&path).unwrap();
        }
    }
    for (path, entry) in tree {
        match entry {
            Entry::Folder(mode) => {
                fs::create_dir(path).unwrap();
                fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Entry::File(mode, bytes) => {
                fixture::put(path, bytes);
                fs::set_permissions(path, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Entry::Link(target) => std::os::unix::fs::symlink(target, path).unwrap(),
        }
    }
}

/// What is there.
pub(crate) fn taken(world: &World) -> Tree {
    let mut tree = Tree::new();
    for top in MODELLED {
        tree.extend(State::new(world.path(top)).with_index());
    }
    tree
}

const MODELLED: [&str; 2] = ["state", "out"];
