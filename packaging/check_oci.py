"""Checks an OCI image layout and unpacks an image: `check_oci.py LAYOUT ARCHITECTURE ROOT`.

Every blob has the digest that it is named by, every descriptor the size and digest of its blob, and
no blob is left over.
"""

import gzip
import hashlib
import json
import pathlib
import sys
import tarfile


def main(layout, architecture, root):
    blobs = pathlib.Path(layout, "blobs", "sha256")
    used = set()

    def blob(descriptor):
        algorithm, digest = descriptor["digest"].split(":")
        content = (blobs / digest).read_bytes()
        assert algorithm == "sha256" and hashlib.sha256(content).hexdigest() == digest, digest
        assert len(content) == descriptor["size"], digest
        used.add(digest)
        return content

    version = json.loads(pathlib.Path(layout, "oci-layout").read_text())
    assert version == {"imageLayoutVersion": "1.0.0"}, version
    (named,) = json.loads(pathlib.Path(layout, "index.json").read_text())["manifests"]
    assert named["annotations"]["org.opencontainers.image.ref.name"], named
    found = []
    for descriptor in json.loads(blob(named))["manifests"]:
        manifest = json.loads(blob(descriptor))
        config = json.loads(blob(manifest["config"]))
        assert config["architecture"] == descriptor["platform"]["architecture"], descriptor
        layers = [gzip.decompress(blob(layer)) for layer in manifest["layers"]]
        digests = ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]
        assert config["rootfs"] == {"type": "layers", "diff_ids": digests}, config
        found.append(config["architecture"])
        if config["architecture"] == architecture:
            for layer in manifest["layers"]:
                path = blobs / layer["digest"].split(":")[1]
                with tarfile.open(path) as archive:
                    archive.extractall(root, numeric_owner=True)
    assert architecture in found, found
    assert used == {path.name for path in blobs.iterdir()}, "there are other blobs"


main(*sys.argv[1:])
