package pause

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// loadAddress is where the program lives in memory; one page-aligned segment holds headers, code and data.
const loadAddress = 0x400000

const (
	elfHeaderSize     = 64
	programHeaderSize = 56
	codeOffset        = elfHeaderSize + programHeaderSize
)

// Program returns a static ELF executable for a GOARCH. The process ignores SIGCHLD with SA_NOCLDWAIT, so the kernel reaps the
// orphans that it inherits as the first process of a pid namespace, and then sleeps for ever. On amd64 it exits with 0 on SIGTERM and SIGINT.
func Program(arch string) ([]byte, error) {
	switch arch {
	case "amd64":
		return executable(0x3e, amd64Code()), nil
	case "arm64":
		return executable(0xb7, arm64Code()), nil
	}
	return nil, fmt.Errorf("pause: no program for architecture %q (there is one for amd64 and arm64); name a sandbox image of your own", arch)
}

// executable wraps code in ELF64 headers: one segment, readable and executable, entered at its first instruction.
func executable(machine uint16, code []byte) []byte {
	var b bytes.Buffer
	size := uint64(codeOffset + len(code))
	b.Write([]byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&b, binary.LittleEndian, v) // a bytes.Buffer does not fail
		}
	}
	put(uint16(2), machine, uint32(1), uint64(loadAddress+codeOffset), uint64(elfHeaderSize), uint64(0), uint32(0),
		uint16(elfHeaderSize), uint16(programHeaderSize), uint16(1), uint16(0), uint16(0), uint16(0))
	put(uint32(1), uint32(5), uint64(0), uint64(loadAddress), uint64(loadAddress), size, size, uint64(0x1000))
	b.Write(code)
	return b.Bytes()
}

// struct sigaction of the kernel: handler, flags, restorer, mask; 8 bytes each.
const (
	sigIgnore     = 1
	saNoChildWait = 0x2
	saRestorer    = 0x04000000
	sigInt        = 2
	sigTerm       = 15
	sigChild      = 17
)

func amd64Code() []byte {
	var c []byte
	// sigaction emits rt_sigaction(signal, &action, NULL, 8); the displacement to the action is filled in afterwards.
	type fix struct{ at, action int }
	var fixes []fix
	sigaction := func(signal byte, action int) {
		c = append(c, 0xb8, 13, 0, 0, 0)     // mov eax, SYS_rt_sigaction
		c = append(c, 0xbf, signal, 0, 0, 0) // mov edi, signal
		c = append(c, 0x48, 0x8d, 0x35)      // lea rsi, [rip+action]
		fixes = append(fixes, fix{len(c), action})
		c = append(c, 0, 0, 0, 0)
		c = append(c, 0x31, 0xd2)             // xor edx, edx
		c = append(c, 0x41, 0xba, 8, 0, 0, 0) // mov r10d, 8
		c = append(c, 0x0f, 0x05)             // syscall
	}
	sigaction(sigChild, 0)
	sigaction(sigTerm, 1)
	sigaction(sigInt, 1)
	c = append(c, 0xb8, 34, 0, 0, 0, 0x0f, 0x05) // mov eax, SYS_pause; syscall
	c = append(c, 0xeb, 0xf7)                    // jmp back to the mov
	exit := len(c)
	c = append(c, 0x31, 0xff, 0xb8, 231, 0, 0, 0, 0x0f, 0x05) // xor edi, edi; mov eax, SYS_exit_group; syscall
	for (codeOffset+len(c))%8 != 0 {
		c = append(c, 0x90)
	}
	actions := []int{len(c), len(c) + 32}
	c = appendAction(c, sigIgnore, saNoChildWait, 0)
	exitAddress := uint64(loadAddress + codeOffset + exit)
	c = appendAction(c, exitAddress, saRestorer, exitAddress)
	for _, f := range fixes {
		binary.LittleEndian.PutUint32(c[f.at:], uint32(actions[f.action]-(f.at+4)))
	}
	return c
}

func appendAction(c []byte, handler, flags, restorer uint64) []byte {
	for _, v := range []uint64{handler, flags, restorer, 0} {
		c = binary.LittleEndian.AppendUint64(c, v)
	}
	return c
}

func arm64Code() []byte {
	movz := func(register, value uint32) uint32 { return 0xd2800000 | value<<5 | register }
	const svc = 0xd4000001
	instructions := []uint32{
		movz(8, 134), movz(0, sigChild), 0, movz(2, 0), movz(3, 8), svc, // rt_sigaction(SIGCHLD, &action, NULL, 8)
		movz(8, 73), movz(0, 0), movz(1, 0), movz(2, 0), movz(3, 0), svc, // ppoll(NULL, 0, NULL, NULL)
		0x14000000 | (0x03ffffff & ^uint32(5)), // b back to the movz of ppoll, six instructions up
		movz(0, 0),                             // filler, so that the data is aligned
	}
	// adr x1, action: a byte offset from the instruction itself; low two bits at 29, the rest at 5.
	offset := uint32(len(instructions)-2) * 4
	instructions[2] = 0x10000000 | offset&3<<29 | offset>>2<<5 | 1
	var c []byte
	for _, i := range instructions {
		c = binary.LittleEndian.AppendUint32(c, i)
	}
	return appendAction(c, sigIgnore, saNoChildWait, 0)
}
