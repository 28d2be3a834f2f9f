"""Definition trees as they are found in the wild, and every rule that the golden tree does not show."""

from __future__ import annotations

from pathlib import Path

import pytest

from terrazzo.errors import DefinitionError, Problem
from terrazzo.schema.deffiles import load_tree
from terrazzo.schema.loaded import Loaded
from terrazzo.schema.model import ALWAYS, Compression, DetailLevel, EntitySchema, Exposed, Index, Volatile

PLAIN = "<hp><Type>UINT8</Type><Flags>ALL_CLIENTS</Flags></hp>"


def prop(name: str, data_type: str = "UINT8", flags: str = "ALL_CLIENTS", rest: str = "") -> str:
    return f"<{name}><Type>{data_type}</Type><Flags>{flags}</Flags>{rest}</{name}>"


def properties(*found: str) -> str:
    return f"<root><Properties>{''.join(found)}</Properties></root>"


def write_tree(root: Path, files: dict[str, str | bytes]) -> Path:
    """Files by path below entity_defs, or with / beside it. Every top-level .def is listed."""
    listed = "".join(f"<{Path(name).stem}/>" for name in files if name.endswith(".def") and "/" not in name)
    for name, content in {"/entities.xml": f"<root>{listed}</root>", **files}.items():
        path = root / name[1:] if name.startswith("/") else root / "entity_defs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


@pytest.fixture
def load(tmp_path):
    def load_files(files: dict[str, str | bytes], **options) -> Loaded:
        return load_tree(write_tree(tmp_path, files), **options)

    return load_files


def told(problems: list[Problem]) -> list[tuple[str, int, str]]:
    return [(each.file, each.line, each.kind) for each in problems]


def names(things) -> list[str]:
    return [each.name for each in things]


def clean(loaded: Loaded, name: str = "Barrel") -> EntitySchema:
    assert loaded.errors == []
    assert loaded.warnings == []
    return loaded.schema[name]


# --- where a tree lies ----------------------------------------------------------------------------


@pytest.mark.parametrize("inner", ["", "scripts"])
def test_a_tree_is_found_with_and_without_a_scripts_folder(tmp_path, inner):
    write_tree(tmp_path / inner, {"Barrel.def": properties(PLAIN)})
    clean(load_tree(tmp_path))
    clean(load_tree(str(tmp_path)))
    clean(load_tree(tmp_path / inner / "entity_defs"))


def test_what_is_no_tree_gives_one_error_that_says_what_was_looked_for(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere"):
        loaded = load_tree(path)
        assert loaded.schema.entities == ()
        assert [each.kind for each in loaded.errors] == ["not a definition tree"]
        assert "entity_defs" in loaded.errors[0].message
        assert "entities.xml" in loaded.errors[0].message
        with pytest.raises(DefinitionError):
            loaded.checked()


def test_ids_count_missing_files_and_server_only_types_come_after(load):
    loaded = load(
        {
            "/entities.xml": "<root><ServerOnlyEntities><Vault/></ServerOnlyEntities>\n"
            "<ClientServerEntities><Keg/><Barrel/></ClientServerEntities>\n<Extra/></root>",
            "Barrel.def": properties(PLAIN),
            "Vault.def": properties(PLAIN),
        }
    )
    assert [(each.name, each.type_id, each.on_client) for each in loaded.schema.entities] == [
        ("Barrel", 2, True),
        ("Vault", 3, False),
    ]
    assert loaded.schema["Vault"].client_properties == ()
    assert told(loaded.errors) == [("entities.xml", 2, "missing definition file")]
    assert told(loaded.warnings) == [("entities.xml", 3, "unknown tag")]


def test_files_that_cannot_be_read_are_errors(load, tmp_path):
    (tmp_path / "entity_defs" / "Folder.def").mkdir(parents=True)
    loaded = load(
        {
            "/entities.xml": "<root><Folder/><Binary/><Packed/><Empty/><Barrel/></root>",
            "Binary.def": bytes(range(256)),
            "Packed.def": b"\x45\x4e\xa1\x62\x00rest",
            "Empty.def": "",
            "Barrel.def": properties(PLAIN),
        }
    )
    assert names(loaded.schema.entities) == ["Barrel"]
    assert [(each.file, each.kind) for each in loaded.errors] == [
        ("entity_defs/Binary.def", "malformed XML"),
        ("entity_defs/Empty.def", "malformed XML"),
        ("entity_defs/Folder.def", "unreadable file"),
        ("entity_defs/Packed.def", "malformed XML"),
    ]
    assert loaded.warnings == []


# --- wild files -----------------------------------------------------------------------------------


def test_undeclared_prefixes_odd_roots_and_tabs(load):
    loaded = load(
        {
            "alias.xml": "<types>\n<xmlns:xsi>http://www.w3.org</xmlns:xsi>\n<HP>\t\tUINT8\t</HP></types>",
            "Barrel.def": "<Barrel.def>\n\t<xmlns:xsi>\thttp://www.w3.org\t</xmlns:xsi>\n"
            "<Properties>\n<hp>\t<Type>\tHP\t</Type>\t<Flags>\tBASE\t</Flags>\t</hp></Properties></Barrel.def>",
        }
    )
    assert loaded.errors == []
    assert told(loaded.warnings) == [
        ("entity_defs/Barrel.def", 2, "unknown tag"),
        ("entity_defs/alias.xml", 2, "unknown tag"),
    ]
    assert loaded.warnings[0].tag == "xmlns:xsi"
    assert loaded.schema["Barrel"].properties[0].type.spell() == "HP"


TEXT = properties(prop("word", "UNICODE_STRING", "BASE", "<Default>бочка</Default>"))


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + TEXT.encode(),
        b'\n \t<?xml version="1.0"?>\n' + TEXT.encode(),
        b'<?xml version="1.0" encoding="windows-1251"?>' + TEXT.encode("cp1251"),
        b"<?xml version='1.0' encoding='koi8-r' ?>" + TEXT.encode("koi8-r"),
        b'<?xml version="1.0" encoding="gb2312"?>' + TEXT.encode("gb2312"),
        TEXT.encode("utf-16"),
        b'<?xml version="1.0" encoding="utf-16"?>' + TEXT.encode(),
    ],
    ids=["bom", "blanks first", "windows-1251", "koi8-r", "gb2312", "utf-16", "not utf-16"],
)
def test_encodings(load, content):
    assert clean(load({"Barrel.def": content})).properties[0].default == "бочка"


@pytest.mark.parametrize("head", [b"", b'<?xml version="1.0" encoding="klingon"?>'])
def test_bytes_in_an_unknown_encoding_are_read_with_a_warning(load, head):
    loaded = load({"Barrel.def": head + "<root><!-- бочка --></root>".encode("cp1251")})
    assert loaded.errors == []
    assert told(loaded.warnings) == [("entity_defs/Barrel.def", 1, "text encoding")]


def test_misspelled_tags_are_passed_over_with_a_hint(load):
    loaded = load(
        {
            "alias.xml": "<root><A> FIXED_DICT\n<AlowNone>true</AlowNone></A></root>",
            "Barrel.def": "<root>\n<volatile/>\n<_BaseMethods/>\n<Properties>"
            + prop("hp", rest="\n<default>300</default>")
            + "</Properties></root>",
        }
    )
    assert loaded.errors == []
    assert [(each.tag, each.line, each.kind) for each in loaded.warnings] == [
        ("volatile", 2, "unknown tag"),
        ("_BaseMethods", 3, "unknown tag"),
        ("default", 5, "unknown tag"),
        ("AlowNone", 2, "unknown tag"),
    ]
    hints = [each.message.rpartition("did you mean ")[2] for each in loaded.warnings]
    assert hints == ["Volatile?", "BaseMethods?", "Default?", "AllowNone?"]


@pytest.mark.parametrize(
    "content",
    [
        '<!DOCTYPE root [\n<!ENTITY a "aaaa">]>\n<root/>',
        '<!DOCTYPE root [\n<!ENTITY a SYSTEM "file:///etc/hostname">]>\n<root>&a;</root>',
    ],
)
def test_entity_declarations_are_refused(load, content):
    assert told(load({"Barrel.def": content}).errors) == [("entity_defs/Barrel.def", 2, "malformed XML")]


def test_a_plain_doctype_is_harmless(load):
    clean(load({"Barrel.def": "<!DOCTYPE root>" + properties(PLAIN)}))


@pytest.mark.parametrize("depth", [300, 100_000])
def test_deeply_nested_elements_are_refused(load, depth):
    loaded = load({"Barrel.def": "<root>\n" + "<a>" * depth + "</a>" * depth + "</root>"})
    assert told(loaded.errors) == [("entity_defs/Barrel.def", 2, "malformed XML")]


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "a b", "x.def"])
def test_a_name_cannot_leave_its_folder(load, name):
    loaded = load(
        {
            "Barrel.def": f"<root><Parent>{name}</Parent>\n"
            f"<Implements><Interface>{name}</Interface></Implements>\n<Components><lid>{name}</lid></Components></root>"
        }
    )
    assert told(loaded.errors) == [("entity_defs/Barrel.def", line, "bad name") for line in (1, 2, 3)]


# --- parents, interfaces, components --------------------------------------------------------------


@pytest.mark.parametrize(
    "section",
    [
        "<Implements><Interface>A</Interface><Interface>B</Interface></Implements>",
        "<Interfaces><Interface>A</Interface><Interface>B</Interface></Interfaces>",
        "<Interfaces><A/><B/></Interfaces>",
        "<Implements><A/></Implements><Interfaces><Interface> B </Interface></Interfaces>",
    ],
)
def test_ways_to_name_interfaces(load, section):
    loaded = load(
        {
            "Barrel.def": f"<root><Properties>{prop('own')}</Properties>{section}</root>",
            "interfaces/A.def": properties(prop("a")),
            "interfaces/B.def": properties(prop("b")),
        }
    )
    assert names(clean(loaded).properties) == ["a", "b", "own"]


def test_a_property_declared_again_stays_where_it_was(load):
    loaded = load(
        {
            "Keg.def": properties(prop("a"), prop("b", "UINT16"), prop("c")),
            "Barrel.def": "<root><Properties>"
            + prop("d")
            + prop("b", "STRING", "BASE")
            + "</Properties><Parent>Keg</Parent></root>",
        }
    )
    barrel = clean(loaded)
    assert [(each.name, each.type.spell(), each.flags.name) for each in barrel.properties] == [
        ("a", "UINT8", "ALL_CLIENTS"),
        ("b", "STRING", "BASE"),
        ("c", "UINT8", "ALL_CLIENTS"),
        ("d", "UINT8", "ALL_CLIENTS"),
    ]
    assert loaded.schema["Keg"].properties[1].type.spell() == "UINT16"


def test_a_wrong_redefinition_leaves_the_first(load):
    loaded = load(
        {
            "Keg.def": properties(prop("a"), prop("b")),
            "Barrel.def": "<root><Parent>Keg</Parent><Properties>" + prop("a", "NOPE") + "</Properties></root>",
        }
    )
    assert [each.kind for each in loaded.errors] == ["unknown type"]
    assert names(loaded.schema["Barrel"].properties) == ["a", "b"]


def test_the_first_of_two_methods_stays_and_a_conflict_is_told_once(load):
    methods = "<root>\n<CellMethods>{}</CellMethods></root>"
    both = "<root><Implements><A/><B/></Implements></root>"
    loaded = load(
        {
            "Barrel.def": both,
            "Keg.def": both,
            "interfaces/A.def": methods.format("<roll><Arg>UINT8</Arg></roll><stop/>"),
            "interfaces/B.def": methods.format("<stop/><roll><Arg>UINT16</Arg></roll>"),
        }
    )
    assert loaded.errors == []
    assert told(loaded.warnings) == [("entity_defs/interfaces/B.def", 2, "conflicting method")]
    assert "interfaces/A.def:2" in loaded.warnings[0].message
    roll, stop = loaded.schema["Barrel"].cell_methods
    assert (roll.name, roll.args[0].type.spell(), stop.name) == ("roll", "UINT8", "stop")


def test_rings_and_missing_files_are_told_once_and_the_rest_loads(load):
    loaded = load(
        {
            "Barrel.def": "<root><Parent>Keg</Parent>\n<Implements><A/></Implements>\n<Properties>"
            + prop("own", rest="<DetailLevel>NEAR</DetailLevel>")
            + "</Properties></root>",
            "Keg.def": "<root><Parent>Barrel</Parent><Properties>" + prop("lid") + "</Properties></root>",
            "Own.def": "<root><Parent>Own</Parent></root>",
            "interfaces/A.def": "<root><Implements><Gone/></Implements></root>",
        }
    )
    assert told(loaded.errors) == [
        ("entity_defs/Keg.def", 1, "circular Parent"),
        ("entity_defs/Own.def", 1, "circular Parent"),
        ("entity_defs/interfaces/A.def", 1, "missing interface"),
    ]
    assert names(loaded.schema["Barrel"].properties) == ["lid", "own"]
    assert names(loaded.schema["Keg"].properties) == ["lid"]


def test_missing_parent_and_component(load):
    loaded = load(
        {"Barrel.def": "<root><Parent>Keg</Parent>\n<Components><lid>Lid</lid></Components></root>"},
    )
    assert told(loaded.errors) == [
        ("entity_defs/Barrel.def", 1, "missing parent"),
        ("entity_defs/Barrel.def", 2, "missing component"),
    ]


def test_a_broken_interface_is_told_once_however_many_use_it(load):
    user = "<root><Implements><A/></Implements><Properties>" + PLAIN + "</Properties></root>"
    loaded = load({"Barrel.def": user, "Keg.def": user, "interfaces/A.def": "<root>"})
    assert told(loaded.errors) == [("entity_defs/interfaces/A.def", 1, "malformed XML")]
    assert names(loaded.schema["Keg"].properties) == ["hp"]


def test_a_chain_of_files_has_an_end(load):
    chain: dict[str, str | bytes] = {
        f"interfaces/I{number}.def": f"<root><Implements><I{number + 1}/></Implements></root>" for number in range(500)
    }
    loaded = load({"Barrel.def": "<root><Implements><I0/></Implements></root>", **chain})
    assert [each.kind for each in loaded.errors] == ["chain too long"]


def test_interfaces_that_fan_out_are_laid_together_once(load):
    fan: dict[str, str | bytes] = {
        f"interfaces/I{number}.def": f"<root><Implements><I{number + 1}/><Interface>I{number + 1}</Interface>"
        f"</Implements><Properties>{prop(f'p{number}')}</Properties></root>"
        for number in range(40)
    }
    fan["interfaces/I40.def"] = properties(prop("p40"))
    loaded = load({"Barrel.def": "<root><Implements><I0/></Implements></root>", **fan})
    assert names(clean(loaded).properties) == [f"p{number}" for number in range(40, -1, -1)]


def test_components(load):
    lid = (
        "<root><Implements><Worn/></Implements><Properties>"
        + prop("open", rest="<DetailLevel>NEAR</DetailLevel>")
        + "</Properties><CellMethods><shut><Exposed/></shut></CellMethods>"
        "<TempProperties><hand/></TempProperties></root>"
    )
    loaded = load(
        {
            "Barrel.def": "<root>"
            "<Components><top>Lid</top><bottom><Type>Lid</Type></bottom><Tap/></Components>"
            "<LoDLevels><level>9<label>NEAR</label></level></LoDLevels>"
            f"<Properties>{prop('size')}</Properties><CellMethods><shut/></CellMethods></root>",
            "Keg.def": f"<root><Parent>Barrel</Parent><Properties>{prop('more')}</Properties></root>",
            "components/Lid.def": lid,
            "components/Tap.def": "<root/>",
            "interfaces/Worn.def": properties(prop("wear")),
        }
    )
    barrel = clean(loaded)
    inside = ["top.wear", "top.open", "bottom.wear", "bottom.open"]
    assert names(barrel.properties) == ["size", *inside]
    assert names(loaded.schema["Keg"].properties) == ["size", "more", *inside]
    assert barrel.components == (("top", "Lid"), ("bottom", "Lid"), ("Tap", "Tap"))
    assert [(each.component, each.exposed) for each in barrel.cell_methods] == [
        (None, Exposed.NO),
        ("top", Exposed.DEFAULT),
        ("bottom", Exposed.DEFAULT),
    ]
    assert barrel.temp_properties == ("top.hand", "bottom.hand")


# --- levels of detail, volatile, the rest ---------------------------------------------------------


def test_levels_of_detail_are_merged_by_label(load):
    loaded = load(
        {
            "Barrel.def": "<root><LoDLevels><level>5<label>FAR</label></level><level>40<label>MID</label>"
            "<hyst>2</hyst></level></LoDLevels><Implements><A/></Implements></root>",
            "interfaces/A.def": "<root><LoDLevels><level>20<label>NEAR</label></level>"
            "<level>90<label>FAR</label><hyst>1</hyst></level></LoDLevels></root>",
        }
    )
    assert clean(loaded).detail_levels == (
        DetailLevel("FAR", 5.0, 10.0),
        DetailLevel("NEAR", 20.0, 10.0),
        DetailLevel("MID", 40.0, 2.0),
    )


def test_too_many_levels_of_detail(load):
    levels = "".join(f"\n<level>{start}<label>L{start}</label></level>" for start in (1, 2, 3, 4))
    user = "<root><Implements><A/></Implements></root>"
    loaded = load(
        {
            "Barrel.def": user,
            "Keg.def": user,
            "interfaces/A.def": f"<root><LoDLevels>{levels}</LoDLevels></root>",
        }
    )
    assert told(loaded.errors) == [("entity_defs/interfaces/A.def", 5, "too many LoD levels")]


def test_bad_levels_do_not_make_the_labels_unknown(load):
    loaded = load(
        {
            "Barrel.def": "<root><LoDLevels>\n<level>near<label>NEAR</label></level>\n"
            "<level>9</level></LoDLevels>"
            f"<Properties>{prop('hp', rest='<DetailLevel>NEAR</DetailLevel>')}</Properties></root>",
        }
    )
    assert told(loaded.errors) == [("entity_defs/Barrel.def", line, "bad LoD level") for line in (2, 3)]
    assert loaded.schema["Barrel"].properties[0].detail_level is None


def test_a_level_that_one_user_of_an_interface_lacks(load):
    loaded = load(
        {
            "Barrel.def": "<root><LoDLevels><level>9<label>NEAR</label></level></LoDLevels>"
            "<Implements><A/></Implements></root>",
            "Keg.def": "<root><Implements><A/></Implements></root>",
            "Tub.def": "<root><Implements><A/></Implements></root>",
            "interfaces/A.def": properties(prop("hp", rest="\n<DetailLevel>NEAR</DetailLevel>")),
        }
    )
    assert told(loaded.errors) == [("entity_defs/interfaces/A.def", 2, "unknown detail level")]
    assert loaded.schema["Barrel"].properties[0].detail_level == "NEAR"
    assert loaded.schema["Keg"].properties[0].detail_level is None


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("", Volatile()),
        ("<position/><yaw>3</yaw>", Volatile(position=ALWAYS, yaw=3.0)),
        ("<position>-1</position><yaw/><pitch>7.5</pitch>", Volatile(yaw=ALWAYS, pitch=7.5)),
    ],
)
def test_volatile(load, inside, expected):
    assert clean(load({"Barrel.def": f"<root><Volatile>{inside}</Volatile></root>"})).volatile == expected


@pytest.mark.parametrize(
    ("inside", "line", "kind"),
    [
        ("<pitch/>\n<yaw>9</yaw>", 2, "volatile order"),
        ("<yaw/><pitch>3</pitch>\n<roll>4</roll>", 3, "volatile order"),
        ("<position>far</position>", 2, "bad number"),
    ],
)
def test_wrong_volatile(load, inside, line, kind):
    loaded = load({"Barrel.def": f"<root>\n<Volatile>{inside}</Volatile></root>"})
    assert told(loaded.errors) == [("entity_defs/Barrel.def", line, kind)]


def test_single_values(load):
    loaded = load(
        {
            "Barrel.def": "<root><AppealRadius>2.5</AppealRadius><Persistent>false</Persistent>"
            "<ExplicitDatabaseID>true</ExplicitDatabaseID><ClientName>Barrel</ClientName>"
            "<NetworkCompression><internal>ZIP</internal></NetworkCompression></root>",
            "Keg.def": "<root><Parent>Barrel</Parent><NetworkCompression><internal>NONE</internal>"
            "<external>ZIP<level>9</level></external></NetworkCompression><Persistent>true</Persistent></root>",
        }
    )
    barrel = clean(loaded)
    assert (barrel.appeal_radius, barrel.persistent, barrel.explicit_database_id) == (2.5, False, True)
    assert barrel.compression == Compression(internal=6)
    keg = loaded.schema["Keg"]
    assert keg.compression == Compression(internal=0, external=9)
    assert (keg.appeal_radius, keg.persistent) == (2.5, True)


def test_wrong_single_values(load):
    loaded = load(
        {
            "Barrel.def": "<root><AppealRadius>wide</AppealRadius>\n<Persistent>maybe</Persistent>\n"
            "<NetworkCompression><internal>ZIP<level>12</level></internal></NetworkCompression></root>"
        }
    )
    assert told(loaded.errors) == [
        ("entity_defs/Barrel.def", 1, "bad number"),
        ("entity_defs/Barrel.def", 3, "bad compression"),
    ]
    assert told(loaded.warnings) == [("entity_defs/Barrel.def", 2, "bad boolean")]
    assert loaded.schema["Barrel"].persistent


# --- properties and methods -----------------------------------------------------------------------


def test_indexes_of_the_database(load):
    loaded = load(
        {
            "Barrel.def": properties(
                prop("a", rest="<Indexed>true</Indexed>"),
                prop("b", rest="<Indexed>true<Unique>true</Unique></Indexed>"),
                prop("c", rest="<Indexed><Unique>true</Unique></Indexed>"),
                prop("d", rest="<Indexed>false<Unique>true</Unique></Indexed>"),
            )
        }
    )
    expected = [Index.INDEXED, Index.UNIQUE, Index.UNIQUE, Index.NONE]
    assert [each.indexed for each in clean(loaded).properties] == expected


def test_header_sizes(load):
    size = "<VariableLengthHeaderSize>{}</VariableLengthHeaderSize>"
    loaded = load(
        {
            "Barrel.def": properties(
                prop("a", rest=size.format(" 4 ")),
                prop("b", rest=size.format("<WarnLevel>log</WarnLevel>")),
                prop("c", rest="\n" + size.format("5")),
            )
        }
    )
    assert [each.header_size for each in loaded.schema["Barrel"].properties] == [4, 1, 1]
    assert told(loaded.warnings) == [("entity_defs/Barrel.def", 2, "bad header size")]


def test_what_clients_may_get(load):
    loaded = load(
        {
            "alias.xml": "<root><BAG>ARRAY<of>FIXED_DICT<Properties><who><Type>MAILBOX</Type></who>"
            "</Properties></of></BAG></root>",
            "Barrel.def": "<root><Properties>"
            + prop("a", "BAG", "\nOWN_CLIENT\n")
            + "\n"
            + prop("b", "BAG", "CELL_PUBLIC")
            + prop("c", "PYTHON", "BASE_AND_CLIENT")
            + "\n"
            + prop("d", rest="<IsReliable>false</IsReliable>")
            + "</Properties><ClientMethods>\n<onIt><Arg>BAG</Arg></onIt></ClientMethods></root>",
        }
    )
    assert told(loaded.errors) == [("entity_defs/Barrel.def", 1, "mailbox in client data")]
    assert names(loaded.schema["Barrel"].properties) == ["b", "c", "d"]
    assert [(each.line, each.kind) for each in loaded.warnings] == [
        (4, "python in client data"),
        (5, "unreliable without SendLatestOnly"),
        (6, "mailbox in client data"),
    ]


def test_arguments_and_exposure(load):
    loaded = load(
        {
            "Barrel.def": "<root><CellMethods><roll><Exposed>ALL_CLIENTS</Exposed><Args><far>FLOAT</far>"
            "<Arg>UINT8</Arg></Args></roll><stop><Arg>UINT8</Arg><Arg>INT8</Arg></stop></CellMethods>"
            "<BaseMethods>\n<fill><Exposed>ALL_CLIENTS</Exposed></fill>\n<tap><Exposed>ANYONE</Exposed></tap>\n"
            "<seal><Exposed>OWN_CLIENT</Exposed></seal></BaseMethods></root>",
        }
    )
    assert told(loaded.errors) == [("entity_defs/Barrel.def", line, "unknown exposure") for line in (2, 3)]
    barrel = loaded.schema["Barrel"]
    roll, stop = barrel.cell_methods
    assert [each.name for each in (*roll.args, *stop.args)] == ["far", None, None, None]
    assert (roll.exposed, stop.exposed) == (Exposed.ALL_CLIENTS, Exposed.NO)
    assert [(each.name, each.exposed) for each in barrel.base_methods] == [("seal", Exposed.OWN_CLIENT)]


def test_repeats_within_one_file(load):
    loaded = load(
        {
            "Barrel.def": "<root><Properties>\n"
            + prop("a")
            + "\n"
            + prop("a", "UINT16")
            + "</Properties>\n<Properties/></root>"
        }
    )
    assert [(each.line, each.kind) for each in loaded.warnings] == [
        (3, "duplicate property"),
        (4, "repeated section"),
    ]
    assert [each.type.spell() for each in loaded.schema["Barrel"].properties] == ["UINT16"]


def test_there_are_256_numbers_for_client_properties(load):
    many = [prop(f"p{number}") for number in range(256)]
    clean(load({"Barrel.def": properties(*many, prop("own", flags="BASE"))}))
    loaded = load({"Barrel.def": properties(*many, prop("more"))})
    assert [each.kind for each in loaded.errors] == ["too many client properties"]


def test_all_mistakes_of_a_tree_come_in_one_pass(load):
    loaded = load(
        {
            "/entities.xml": "<root><Barrel/><Keg/>\n<Gone/></root>",
            "alias.xml": "<root><A>NOPE</A>\n<B>ARRAY<of>A</of></B>\n<C>C</C>\n<D/></root>",
            "Barrel.def": properties(
                prop("a", "A"),
                prop("b", "B"),
                "\n",
                prop("c", "UINT7"),
                prop("d", flags="EVERYONE"),
                "\n<e/>",
                "\n<f><Type>UINT8</Type></f>",
                PLAIN,
            ),
            "Keg.def": "<root>\n<Properties></root>",
        }
    )
    assert told(loaded.errors) == [
        ("entities.xml", 2, "missing definition file"),
        ("entity_defs/Barrel.def", 2, "unknown type"),
        ("entity_defs/Barrel.def", 2, "unknown flag"),
        ("entity_defs/Barrel.def", 3, "property without type"),
        ("entity_defs/Barrel.def", 4, "property without flags"),
        ("entity_defs/Keg.def", 2, "malformed XML"),
        ("entity_defs/alias.xml", 1, "unknown type"),
        ("entity_defs/alias.xml", 3, "circular alias"),
        ("entity_defs/alias.xml", 4, "alias without type"),
    ]
    assert names(loaded.schema["Barrel"].properties) == ["hp"]
